#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace pgb {

/// What the framer knows of one type byte.
struct MessageRule {
    /// Bytes of a message (type and length word included) that must be there before its first
    /// piece is yielded: min(head, size of the message). 5: the header only. Never below 5.
    std::uint32_t head;
    /// Largest length word (itself included, type byte not) that the receiver allows.
    std::uint32_t length_max;
};

/// One rule per type byte. Made once and shared by all framers of a direction.
using HeadTable = std::array<MessageRule, 256>;

/// Rules for what a frontend sends. Heads: Q, P, F, p up to `message_buffer_max`; B, D, C, E up to
/// 4096 of it (names stand first); everything else 5. Lengths: the limits of PostgreSQL's
/// SocketBackend(): 1 GiB - 2 for Q, P, B, F, d; 10000 for C, D, E, H, S, X, c, f; 65535 for p.
[[nodiscard]] HeadTable frontend_heads(std::uint32_t message_buffer_max);

/// Rules for what a backend sends. Heads: E, N, S, A, Z, C, K, v, R up to `message_buffer_max`,
/// everything else 5. Lengths: libpq's rule, 30000 for types that are never long, else any
/// positive Int32.
[[nodiscard]] HeadTable backend_heads(std::uint32_t message_buffer_max);

/// Type byte and length word.
inline constexpr std::uint32_t kMessageHeaderSize = 5;

/// One piece of a message. Views into the input of Framer::next() and lives as long as that.
struct Frame {
    char type = 0;
    std::uint64_t size = 0;  ///< of the whole message, type and length word included
    std::uint32_t head = 0;  ///< min(size, head of its type): the part that every cut shows alike
    std::string_view bytes;  ///< this piece
    bool first = false;      ///< begins with the header
    bool last = false;       ///< the message ends with it

    /// Of a first piece: what follows the header, up to the head of its type and no further even
    /// when more bytes happen to be here, so that what is read does not depend on how the bytes
    /// were cut. Empty for types with head 5.
    [[nodiscard]] std::string_view body() const {
        return bytes.substr(kMessageHeaderSize, head - kMessageHeaderSize);
    }
    /// Whether body() is the whole body and not a bounded beginning of it.
    [[nodiscard]] bool body_is_whole() const { return head == size; }
    [[nodiscard]] bool whole() const { return first && last; }
};

/// need_more: nothing was consumed, call again with the same bytes and more behind them.
/// malformed: the length word is impossible; nothing of the stream can be trusted any more.
enum class FrameStatus : std::uint8_t { frame, need_more, malformed };

/// Cuts a byte stream into messages, in place.
///
///           next: header and head are there            next: bytes
///   BETWEEN ------------------------------> IN MESSAGE ----------> IN MESSAGE
///      ^  \___ whole message there ___/          |
///      '------------- last piece ----------------'
///
/// Invariants:
///   F1  the pieces of one stream, joined, are the stream, however its bytes were cut.
///   F2  first, type, size and body() of each message are the same however the bytes were cut.
///   F3  need_more asks the caller to keep at most head - 1 bytes: no body that nobody reads is
///       ever assembled, whatever its size.
///
/// A type byte that PostgreSQL does not know is yielded (head 5): what to answer is the caller's
/// to decide. Allocates nothing; holds no bytes; knows no message but by the table it was given.
class Framer {
public:
    /// `heads` is kept by pointer and must outlive the framer.
    explicit Framer(const HeadTable& heads) : heads_(&heads) {}

    /// Cuts the next piece off the front of `input`. On `frame` exactly frame.bytes.size() bytes
    /// are used up; `frame` is untouched otherwise. A length word below 4 or above the limit of
    /// its type is `malformed` as soon as the five header bytes are there. The framer stays where
    /// it was on need_more and malformed.
    [[nodiscard]] FrameStatus next(std::string_view input, Frame& frame) {
        // The rule: a message that is all there.
        if (remaining_ == 0 && input.size() >= kMessageHeaderSize) [[likely]] {
            const MessageRule& rule = (*heads_)[static_cast<unsigned char>(input[0])];
            const std::uint32_t length = length_at(input.data() + 1);
            if (length >= 4 && length <= rule.length_max && length < input.size()) [[likely]] {
                const std::uint32_t size = length + 1;
                const std::string_view bytes(input.data(), size);
                frame = {input[0], size, std::min(size, rule.head), bytes, true, true};
                return FrameStatus::frame;
            }
        }
        return next_piece(input, frame);
    }

    /// A message was begun and is not finished: some bytes of it were yielded.
    [[nodiscard]] bool in_message() const { return remaining_ != 0; }
    /// Bytes of the begun message that were not yielded yet.
    [[nodiscard]] std::uint64_t remaining() const { return remaining_; }

    /// Forgets a begun message: the next byte is a type byte.
    void reset() { remaining_ = 0; }

private:
    static std::uint32_t length_at(const char* at) {
        const auto byte = [at](int i) { return std::uint32_t{static_cast<unsigned char>(at[i])}; };
        return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
    }
    [[nodiscard]] FrameStatus next_piece(std::string_view input, Frame& frame);

    const HeadTable* heads_;
    std::uint32_t size_ = 0;
    std::uint32_t remaining_ = 0;
    std::uint32_t head_ = 0;
    char type_ = 0;
};

static_assert(sizeof(Framer) <= 24, "every connection has two of them");

}  // namespace pgb

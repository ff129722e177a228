#include "protocol/framer.h"

#include <algorithm>

namespace pgb {

namespace {

// PostgreSQL's PQ_LARGE_MESSAGE_LIMIT (MaxAllocSize - 1), PQ_SMALL_MESSAGE_LIMIT and
// PG_MAX_AUTH_TOKEN_LENGTH, all compared with the length word.
constexpr std::uint32_t kLargeMax = 0x3ffffffe;
constexpr std::uint32_t kSmallMax = 10000;
constexpr std::uint32_t kPasswordMax = 65535;

// libpq gives up on longer messages of types that it knows to be short.
constexpr std::uint32_t kBackendShortMax = 30000;
constexpr std::uint32_t kInt32Max = 0x7fffffff;

// Two names of PostgreSQL's length and a bit; a longer name is seen as truncated.
constexpr std::uint32_t kNamesHead = 4096;

MessageRule& rule(HeadTable& table, char type) { return table[static_cast<unsigned char>(type)]; }

}  // namespace

HeadTable frontend_heads(std::uint32_t message_buffer_max) {
    const std::uint32_t whole = std::max(message_buffer_max, kMessageHeaderSize);
    HeadTable table;
    table.fill({kMessageHeaderSize, kLargeMax});
    for (const char type : {'Q', 'P', 'F'}) rule(table, type).head = whole;
    for (const char type : {'B', 'D', 'C', 'E'})
        rule(table, type).head = std::min(kNamesHead, whole);
    for (const char type : {'C', 'D', 'E', 'H', 'S', 'X', 'c', 'f'}) {
        rule(table, type).length_max = kSmallMax;
    }
    rule(table, 'p') = {std::min(kPasswordMax + 1, whole), kPasswordMax};
    return table;
}

HeadTable backend_heads(std::uint32_t message_buffer_max) {
    const std::uint32_t whole = std::max(message_buffer_max, kMessageHeaderSize);
    HeadTable table;
    table.fill({kMessageHeaderSize, kInt32Max});
    for (const char type : {'E', 'N', 'S', 'A', 'Z', 'C', 'K', 'v', 'R'}) {
        rule(table, type).head = whole;
    }
    for (const char type : {'Z', 'C', 'K', 'v', 'R', '1', '2', '3', 'n', 'I', 's', 'c'}) {
        rule(table, type).length_max = kBackendShortMax;
    }
    return table;
}

FrameStatus Framer::next_piece(std::string_view input, Frame& frame) {
    if (remaining_ != 0) [[unlikely]] {
        if (input.empty()) return FrameStatus::need_more;
        const auto take = std::min<std::size_t>(input.size(), remaining_);
        remaining_ -= static_cast<std::uint32_t>(take);
        frame = {type_, size_, head_, input.substr(0, take), false, remaining_ == 0};
        return FrameStatus::frame;
    }
    if (input.size() < kMessageHeaderSize) return FrameStatus::need_more;
    const char type = input[0];
    const MessageRule& rule = (*heads_)[static_cast<unsigned char>(type)];
    const std::uint32_t length = length_at(input.data() + 1);
    if (length < 4 || length > rule.length_max) [[unlikely]]
        return FrameStatus::malformed;
    // At most 2^31: length_max is at most the largest Int32.
    const std::uint32_t size = length + 1;
    const std::uint32_t head = std::min(size, rule.head);
    if (input.size() < head) return FrameStatus::need_more;
    const auto take = std::min<std::size_t>(input.size(), size);
    if (take < size) {
        type_ = type;
        size_ = size;
        head_ = head;
        remaining_ = size - static_cast<std::uint32_t>(take);
    }
    frame = {type, size, head, input.substr(0, take), true, take == size};
    return FrameStatus::frame;
}

}  // namespace pgb

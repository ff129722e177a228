#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "protocol/message_type.h"
#include "protocol/ready_for_query.h"

namespace pgb {

/// What a forwarded message makes the backend owe.
enum class Owed : std::uint8_t {
    query,               ///< everything up to one ReadyForQuery
    function_call,       ///< the same
    parse,               ///< ParseComplete
    bind,                ///< BindComplete
    describe_statement,  ///< ParameterDescription, then RowDescription or NoData
    describe_portal,     ///< RowDescription or NoData
    execute,             ///< CommandComplete, EmptyQueryResponse or PortalSuspended
    close,               ///< CloseComplete
    sync,                ///< ReadyForQuery
    copy_end,            ///< CopyDone or CopyFail: nothing of its own; ends a COPY if one is on
};

/// Whose message it was: replies to the proxy's own messages are not the frontend's to see.
enum class Origin : std::uint8_t { frontend, own };

/// Whether the sender wants to know what became of the message: answered, or never run.
enum class Note : std::uint8_t { none, noted };

/// What a reply has told about noted messages.
struct NotedReplies {
    bool answered = false;      ///< one was answered
    std::uint32_t skipped = 0;  ///< so many were thrown away by the server, the failed one included
};

/// What to do with a reply.
enum class Ruling : std::uint8_t {
    forward,     ///< It answers the frontend.
    swallow,     ///< It answers the proxy.
    own_error,   ///< An error in answer to a message of the proxy's own.
    unexpected,  ///< Nothing of the kind is owed: the backend cannot be trusted any more.
};

/// A first-in, first-out row of bytes. Short rows live in the object; a long pipeline borrows
/// memory from the heap and gives it back with clear().
class ByteRow {
public:
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::uint8_t& operator[](std::size_t at) { return data()[index(at)]; }
    [[nodiscard]] std::uint8_t operator[](std::size_t at) const { return data()[index(at)]; }
    void push(std::uint8_t byte);
    void pop();
    void clear();

private:
    static constexpr std::uint32_t kInline = 32;
    [[nodiscard]] std::uint8_t* data() { return heap_ ? heap_.get() : inline_.data(); }
    [[nodiscard]] const std::uint8_t* data() const { return heap_ ? heap_.get() : inline_.data(); }
    [[nodiscard]] std::size_t index(std::size_t at) const { return (head_ + at) & (capacity_ - 1); }
    void grow();

    std::unique_ptr<std::uint8_t[]> heap_;
    std::uint32_t capacity_ = kInline;
    std::uint32_t head_ = 0;
    std::uint32_t size_ = 0;
    std::array<std::uint8_t, kInline> inline_{};
};

/// The replies a backend still owes, in order: a model of where the server is in the messages it
/// was sent. It follows the protocol and counts nothing: an error skips to the next Sync, a COPY
/// eats the Syncs sent before its end, a Query in a failed batch is never answered
/// (manual, "Extended Query", "COPY Operations", "Pipelining").
///
///      owe()                                     E in answer to an extended message
///   READING ---G in answer to query, execute---> and no Sync sent yet: SKIPPING (what is sent
///      ^  |                                      is thrown away by the server up to a Sync)
///      |  '--> COPY IN (Sync is eaten) --CopyDone, CopyFail, E--.
///      '---------------------------------------------------------'
///
/// Invariants:
///   R1  settled() only when the server has answered all it was sent and waits for more.
///   R2  a ReadyForQuery is owed for each Query, FunctionCall and Sync that the server reads as
///       one, and for nothing else.
///
/// One thing cannot be known: when a COPY fails, whether a Sync sent inside it was eaten before the
/// server noticed the error or read after it. uncertain() says so; a round trip of the proxy's own
/// (a barrier) tells.
class ReplyLedger {
public:
    /// The message is about to be sent. Call in wire order. An error in answer to a noted message
    /// of the proxy's own is the frontend's to see: the message was sent for its sake. While
    /// skipping() nothing is owed, and nothing noted.
    void owe(Owed what, Origin origin, Note note = Note::none);

    /// The backend sent a reply (no asynchronous message: N, S and A are not owed).
    Ruling on_reply(BackendType type);
    /// What the last reply told about noted messages, oldest first; asked once.
    NotedReplies take_noted() { return std::exchange(noted_, {}); }
    /// The next reply is about a noted message.
    [[nodiscard]] bool next_is_noted() const;

    /// Nothing is owed and no COPY is under way.
    [[nodiscard]] bool settled() const { return row_.empty() && !copying_in_; }
    /// Extended messages were sent for which no Sync was sent: the transaction can't end, and the
    /// server may hold replies back.
    [[nodiscard]] bool unsynced() const { return unsynced_; }
    /// The server reads COPY data and its end was not sent.
    [[nodiscard]] bool copying_in() const { return copying_in_; }
    [[nodiscard]] bool uncertain() const { return uncertain_ > 0; }
    /// A Query or FunctionCall was sent in the place of a Sync behind a batch of the frontend's.
    /// PostgreSQL 18 may then fail a later statement (XX000) that is not to blame.
    [[nodiscard]] bool ended_without_sync() const { return ended_without_sync_; }
    /// The server throws away what it is sent, up to a Sync that was not sent yet.
    [[nodiscard]] bool skipping() const { return skipping_; }
    /// The next reply answers a message of the proxy's own that is not noted.
    [[nodiscard]] bool next_is_own() const;
    [[nodiscard]] std::size_t size() const { return row_.size(); }
    /// The frontend was told an error and waits for the ReadyForQuery behind it, or owes its Sync.
    [[nodiscard]] bool error_told() const { return error_told_; }
    /// ReadyForQuerys still owed to the frontend, as far as can be known.
    [[nodiscard]] std::size_t frontend_syncs() const;
    /// Whether the first of what is owed to the frontend ends by a ReadyForQuery that was already
    /// asked for (a Query, or a batch whose Sync was sent).
    [[nodiscard]] bool has_sync() const;

    /// After an error in the proxy's own prefix: the Sync of the frontend that the server will stop
    /// at becomes the proxy's own, since the frontend is answered by the proxy.
    void adopt_sync();
    /// The barrier came back: every Sync before it was answered or eaten.
    void clear_uncertain() { uncertain_ = 0; }
    /// A batch of the proxy's own has shown that the server is well.
    void clear_ended_without_sync() { ended_without_sync_ = false; }
    /// The backend has gone, or is new.
    void clear();

private:
    static std::uint8_t pack(Owed what, Origin origin, Note note);
    [[nodiscard]] Owed what(std::size_t at) const;
    [[nodiscard]] Origin origin(std::size_t at) const;
    [[nodiscard]] bool noted(std::size_t at) const;
    Ruling answer(Owed expected);
    Ruling on_error();
    Ruling on_ready();
    Ruling on_execute_done();
    Ruling on_description(bool rows);
    Ruling on_copy_in();
    Ruling within_run(bool allow_function_call);
    [[nodiscard]] Ruling ruling_of_head() const;
    void pop();
    void skip_to_sync();

    ByteRow row_;
    NotedReplies noted_;
    std::uint32_t eaten_ = 0;      // Syncs sent inside the COPY that is not confirmed yet
    std::uint32_t uncertain_ = 0;  // of which the answer may still come
    bool skipping_ = false;
    bool copying_in_ = false;
    bool unsynced_ = false;
    bool frontend_unsynced_ = false;  // the same, of the frontend's messages only
    bool ended_without_sync_ = false;
    bool error_told_ = false;
};

}  // namespace pgb

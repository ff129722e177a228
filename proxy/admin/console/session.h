#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/framer.h"
#include "protocol/ready_for_query.h"
#include "protocol/request.h"
#include "proxy/admin/console/command.h"
#include "proxy/admin/console/table.h"

namespace pgb {

/// What came of a command.
struct ConsoleReply {
    struct Notice {
        std::string severity = "NOTICE";
        std::string message;
    };
    std::optional<ConsoleFault> fault = {};
    std::vector<Notice> notices = {};
    std::vector<Row> rows = {};  ///< of a command with columns
};

[[nodiscard]] ConsoleReply refuse_command(std::string_view sqlstate, std::string message,
                                          std::string hint = {});

/// One client of the console after its login: PostgreSQL's simple and extended protocol over the
/// console's commands. Bytes and answers go in, bytes come out; it owns no socket and no state of the
/// proxy.
///
///              a command that its owner must carry out
///     TAKING ----------------------------------------> AWAITING
///       |  ^________________ answer() __________________/
///       |  Terminate, or a message that nobody can understand
///       v
///     CLOSED
///
/// Invariants:
///   1  while AWAITING nothing is taken and nothing is said: answers keep the order of requests.
///   2  after an error in a batch nothing counts up to its Sync; a simple query ends at its first
///      error.
///   3  every Query and every Sync is answered by exactly one ReadyForQuery.
/// A transaction block is kept for drivers that begin one unasked: its status is told, and a failed one
/// refuses commands. What was done in it stays done.
class ConsoleSession {
public:
    /// More than anybody types; a longer Query or Parse is refused.
    static constexpr std::size_t kTextMax = std::size_t{64} << 10;
    /// Prepared statements, and portals.
    static constexpr std::size_t kNamesMax = 256;

    explicit ConsoleSession(Suggest suggest);

    /// Takes messages from the front of `input`; returns how many bytes. Stops at a command and at
    /// what is not whole yet.
    std::size_t on_bytes(std::string_view input, std::string& out);
    /// The command to carry out; null: none.
    [[nodiscard]] const ConsoleCommand* wanted() const { return wanted_ ? &*wanted_ : nullptr; }
    /// What came of it. May want the next one.
    void answer(const ConsoleReply& reply, std::string& out);
    [[nodiscard]] bool is_closed() const { return closed_; }

private:
    struct Portal {
        ConsoleCommand command;
        ResultFormats formats;
        std::vector<Row> rows = {};
        std::size_t sent = 0;
        bool has_run = false;
    };

    void take(const Frame& frame, std::string& out);
    void take_message(const Frame& frame, std::string& out);
    void query(const Frame& frame, std::string& out);
    void close_by(std::string_view message, std::string& out);
    /// False, and said: a Query or Parse whose text cannot be read to its end.
    bool has_text(MessageFault fault, bool truncated, std::string& out);
    /// What a text says; nothing, and said: it has a mistake.
    std::optional<ConsoleScript> read_script(std::string_view text, std::string& out);

    // Commands, whichever way they came.
    void run(ConsoleCommand command, std::string& out);
    void run_script(std::string& out);
    void transaction(TransactionVerb verb, std::string& out);
    void accepted(const std::string& tag);
    void finish(const ConsoleCommand& command, const ConsoleReply& reply, std::string& out);
    void fail(const ConsoleFault& fault, std::string& out);
    void fail(std::string_view sqlstate, std::string message, std::string& out);
    void ready(std::string& out);
    /// In a failed block: refused.
    bool is_refused(const ConsoleCommand& command, std::string& out);

    // extended.cpp
    void parse(const Frame& frame, std::string& out);
    void bind(const Frame& frame, std::string& out);
    void describe(const Frame& frame, std::string& out);
    void execute(const Frame& frame, std::string& out);
    void close(const Frame& frame, std::string& out);
    void sync(std::string& out);
    void send_rows(Portal& portal, std::string& out);
    Portal* find_portal(std::string_view name, std::string& out);
    const ConsoleCommand* find_statement(std::string_view name, std::string& out);

    Framer framer_;
    Suggest suggest_;
    std::map<std::string, ConsoleCommand, std::less<>> statements_;
    std::map<std::string, Portal, std::less<>> portals_;
    std::deque<ConsoleCommand> script_;  // of a simple query, what is left of it
    std::optional<ConsoleCommand> wanted_;
    std::string executing_;     // the portal of what is wanted
    std::int32_t row_max_ = 0;  // of that Execute
    TransactionStatus status_ = TransactionStatus::idle;
    bool in_script_ = false;
    bool discarding_ = false;
    bool closed_ = false;
};

}  // namespace pgb

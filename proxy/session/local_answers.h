#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/framer.h"
#include "protocol/request.h"
#include "protocol/transaction_statement.h"
#include "proxy/session/outbox.h"
#include "proxy/session/owed_statements.h"
#include "proxy/session/reported_values.h"
#include "proxy/session/session_statements.h"
#include "proxy/session/settings_book.h"
#include "proxy/session/settings_journal.h"
#include "proxy/session/statement_effects.h"
#include "proxy/session/statement_facts.h"
#include "proxy/session/virtual_block.h"

namespace pgb {

/// The books of a session that its local answers read and write. All outlive them.
struct LocalBooks {
    VirtualBlock& block;
    SessionStatements& statements;
    StatementEffects& effects;
    OwedStatements& owed;
    SettingsBook& settings;
    ReportedValues& told;
    const SettingsJournal& journal;
};

/// What the session keeps between its transactions.
enum class Kept : std::uint8_t {
    nothing,   ///< All that it has is in the books.
    backend,   ///< A backend that may have more of it than is known here.
    resident,  ///< The backend is its own for life, and must be told what changes in the books.
};

/// What PostgreSQL would say to messages that need no backend: the transaction block while it is
/// virtual or failed, statements that the books tell all of, and what follows an error in a batch.
///
/// Each message's function returns true when it was answered, and false when a backend must do it;
/// then nothing was written. While discarding() the rest of a batch goes to discard() instead.
/// Called only while no backend owes the frontend anything.
class LocalAnswers {
public:
    /// `grammar`: a syntax error can be told here.
    LocalAnswers(const LocalBooks& books, bool grammar) : books_(books), grammar_(grammar) {}

    bool query(const Frame& frame, const QueryRequest& query, Kept kept, Outbox& out);
    bool parse(const Frame& frame, const ParseRequest& parse, Kept kept, Outbox& out);
    bool bind(const BindRequest& bind, Kept kept, Outbox& out);
    bool describe(const TargetRequest& target, Kept kept, Outbox& out);
    bool execute(const ExecuteRequest& execute, Kept kept, Outbox& out);
    bool function_call(Outbox& out);
    void close(const TargetRequest& target, Kept kept, Outbox& out);
    void sync(const Frame& frame, Outbox& out);
    void flush(const Frame& frame, Outbox& out);

    /// An error was answered: up to the next Sync nothing counts.
    [[nodiscard]] bool is_discarding() const { return discarding_; }
    void discard_batch() { discarding_ = true; }
    void discard(const Frame& frame, Outbox& out);

    /// Answers a message that was not admitted: `reply` is the ErrorResponse. A BEGIN that only a
    /// server could have done fails the block, so that nothing behind it runs as if it had not been
    /// sent.
    void refuse(const Frame& frame, std::string& reply, Outbox& out);
    /// Completes `reply`, which ends a Query or a batch.
    void answer(std::string& reply, Outbox& out) const;
    /// `reply` is the ErrorResponse of a message of a batch.
    void fail_batch(std::string& reply, Outbox& out);
    /// The block failed while nothing could be said: `error` is told at its next statement; empty:
    /// PostgreSQL's own for a statement in a failed block is.
    void tell_later(std::string error) { untold_error_ = std::move(error); }

    /// The statement of that name, if it is of the transaction grammar; valid until a change.
    [[nodiscard]] const StatementFacts* transaction_statement(std::string_view name) const;
    /// SessionSeed::unset; nullptr: they are not known.
    void note_unset_values(const ReportedValues& values) { unset_ = &values; }
    [[nodiscard]] const ReportedValues* unset_values() const { return unset_; }
    /// Nothing was said that something to come depends on.
    [[nodiscard]] bool is_at_rest() const {
        return !discarding_ && !portal_ && untold_error_.empty();
    }
    /// A batch that was ended in the frontend's stead has failed, and it was told.
    void fail_open_batch() {
        fail_open_block();
        discarding_ = true;
    }
    /// A backend takes part: what was bound here is of no use there.
    void forget_portal() { portal_.reset(); }

private:
    [[nodiscard]] bool failed() const {
        return books_.block.state() == VirtualBlock::State::failed;
    }
    void fail_open_block();
    [[nodiscard]] bool refuses_begin(const Frame& frame) const;
    bool tell_now(const TransactionStatement& statement, std::string& reply);
    void forget_untold_error();
    bool fails_to_parse(std::string_view text, bool whole, const TransactionStatement& statement,
                        std::string& reply) const;
    bool in_failed_block(std::string& reply, Outbox& out);

    // local_resets.cpp
    bool reset(std::string_view text, Kept kept, std::string& reply);
    void forget_settings(SettingsBook behind, std::string& reply);

    // local_statements.cpp: prepared statements
    bool make_statement(const Frame& frame, const ParseRequest& parse,
                        const TransactionStatement& statement, Kept kept, Outbox& out);
    bool drop_statements(std::string_view text, Kept kept, std::string& reply);
    void close_statement(std::string_view name, Kept kept);
    bool describe_rowless(const TargetRequest& target, Outbox& out);
    void append_not_in_failed_block(std::string_view name, Kept kept, std::string& reply) const;
    static void append_no_portal(std::string_view name, Kept kept, std::string& reply);

    LocalBooks books_;
    bool grammar_;
    bool discarding_ = false;
    // The unnamed portal, when it holds a statement answered here.
    std::optional<StatementFacts> portal_;
    std::string untold_error_;
    const ReportedValues* unset_ = nullptr;
};

}  // namespace pgb

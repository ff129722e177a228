#include "proxy/session/virtual_block.h"

#include "protocol/error_response.h"
#include "protocol/rows.h"
#include "protocol/sql_name.h"
#include "protocol/sqlstate.h"

namespace pgb {

namespace {

void append_warning(std::string& out, std::string_view sqlstate, std::string_view message) {
    append_notice(out, {.severity = "WARNING", .sqlstate = sqlstate, .message = message});
}

bool ends_block(TransactionVerb verb) {
    return verb == TransactionVerb::commit || verb == TransactionVerb::end_ ||
           verb == TransactionVerb::rollback || verb == TransactionVerb::abort_;
}

bool chains(TransactionVerb verb) {
    return verb == TransactionVerb::commit_and_chain || verb == TransactionVerb::rollback_and_chain;
}

}  // namespace

void append_in_failed_block(std::string& out) {
    append_error(out, {.sqlstate = sqlstate::kInFailedSqlTransaction,
                       .message = "current transaction is aborted, commands ignored until end of "
                                  "transaction block"});
}

TransactionStatus VirtualBlock::status() const {
    switch (state_) {
        case State::none: return TransactionStatus::idle;
        case State::open: return TransactionStatus::in_block;
        case State::failed: return TransactionStatus::failed;
    }
    return TransactionStatus::idle;
}

bool VirtualBlock::is_local(const TransactionStatement& statement, std::string_view text) const {
    const TransactionVerb verb = statement.verb;
    if (verb == TransactionVerb::empty || begins_block(verb) || ends_block(verb) || chains(verb)) {
        return true;
    }
    if (state_ == State::failed) return true;
    if (state_ == State::none) return false;
    if (verb == TransactionVerb::set_transaction) return savepoints_.empty();
    return verb == TransactionVerb::savepoint && savepoints_.size() < kSavepointMax &&
           text.size() <= kSavepointTextMax;
}

VirtualBlock::Outcome VirtualBlock::execute(const TransactionStatement& statement,
                                            std::string_view text, Warnings warnings,
                                            std::string& out) {
    if (!is_local(statement, text)) return Outcome::needs_backend;
    if (statement.verb == TransactionVerb::empty) {
        append_empty_query_response(out);
        return Outcome::answered;
    }
    switch (state_) {
        case State::none: return execute_outside(statement, warnings, out);
        case State::open: return execute_open(statement, text, warnings, out);
        case State::failed: return execute_failed(statement, out);
    }
    return Outcome::needs_backend;
}

VirtualBlock::Outcome VirtualBlock::execute_outside(const TransactionStatement& statement,
                                                    Warnings warnings, std::string& out) {
    if (chains(statement.verb)) {
        append_error(out,
                     {.sqlstate = sqlstate::kNoActiveSqlTransaction,
                      .message = statement.verb == TransactionVerb::commit_and_chain
                                     ? "COMMIT AND CHAIN can only be used in transaction blocks"
                                     : "ROLLBACK AND CHAIN can only be used in transaction "
                                       "blocks"});
        return Outcome::refused;
    }
    if (begins_block(statement.verb)) {
        open(statement.modes);
    } else if (warnings == Warnings::told) {
        append_warning(out, sqlstate::kNoActiveSqlTransaction,
                       "there is no transaction in progress");
    }
    append_command_complete(out, command_tag(statement.verb));
    return Outcome::answered;
}

VirtualBlock::Outcome VirtualBlock::execute_open(const TransactionStatement& statement,
                                                 std::string_view text, Warnings warnings,
                                                 std::string& out) {
    if (begins_block(statement.verb)) {
        if (warnings == Warnings::told) {
            append_warning(out, sqlstate::kActiveSqlTransaction,
                           "there is already a transaction in progress");
        }
        merge(statement.modes);
    } else if (statement.verb == TransactionVerb::set_transaction) {
        merge(statement.modes);
    } else if (statement.verb == TransactionVerb::savepoint) {
        savepoints_.emplace_back(text);
    } else if (chains(statement.verb)) {
        open(modes_);
    } else {
        leave();
    }
    append_command_complete(out, command_tag(statement.verb));
    return Outcome::answered;
}

VirtualBlock::Outcome VirtualBlock::execute_failed(const TransactionStatement& statement,
                                                   std::string& out) {
    if (statement.verb == TransactionVerb::rollback_to) {
        append_error(out, {.sqlstate = sqlstate::kInvalidSavepointSpecification,
                           .message = "savepoint \"" + looked_up_name(statement.name) +
                                      "\" does not exist"});
        return Outcome::refused;
    }
    if (chains(statement.verb)) {
        open(modes_);
    } else if (ends_block(statement.verb) ||
               statement.verb == TransactionVerb::prepare_transaction) {
        leave();
    } else {
        append_in_failed_block(out);
        return Outcome::refused;
    }
    append_command_complete(out, "ROLLBACK");
    return Outcome::answered;
}

void VirtualBlock::open(const TransactionModes& modes) {
    state_ = State::open;
    modes_ = modes;
    due_ = Instant::never();
    savepoints_.clear();
}

void VirtualBlock::merge(const TransactionModes& modes) {
    if (modes.isolation != IsolationLevel::unset) modes_.isolation = modes.isolation;
    if (modes.access != Access::unset) modes_.access = modes.access;
    if (modes.deferrability != Deferrability::unset) modes_.deferrability = modes.deferrability;
}

void VirtualBlock::fail() {
    state_ = State::failed;
    savepoints_.clear();
}

void VirtualBlock::leave() {
    state_ = State::none;
    modes_ = {};
    due_ = Instant::never();
    savepoints_.clear();
}

}  // namespace pgb

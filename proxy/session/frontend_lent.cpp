// Messages while a backend is lent: forwarded, each with the reply it will bring, except at
// barriers, where a message waits until the server has answered everything before it.

#include "protocol/error_response.h"
#include "protocol/request.h"
#include "protocol/sqlstate.h"
#include "proxy/session/session.h"

namespace pgb {

namespace {

// A pipeline gives way to waiters after this much; from the contract.
constexpr std::uint32_t kSyncPointsMax = 256;
constexpr Duration kHoldMax = std::chrono::milliseconds(500);
// Replies of which none has come; the server flushes every 8 KiB, so this is never the last of
// them, and what a frontend can make us keep is bounded.
constexpr std::size_t kLedgerMax = 16384;

bool commits(TransactionVerb verb) {
    switch (verb) {
        case TransactionVerb::commit:
        case TransactionVerb::end_:
        case TransactionVerb::commit_and_chain:
        case TransactionVerb::prepare_transaction:
        case TransactionVerb::commit_prepared: return true;
        case TransactionVerb::none:
        case TransactionVerb::empty:
        case TransactionVerb::begin:
        case TransactionVerb::start_transaction:
        case TransactionVerb::rollback:
        case TransactionVerb::abort_:
        case TransactionVerb::rollback_and_chain:
        case TransactionVerb::savepoint:
        case TransactionVerb::release:
        case TransactionVerb::rollback_to:
        case TransactionVerb::set_transaction:
        case TransactionVerb::rollback_prepared: return false;
    }
    return false;
}

bool ends_block(TransactionVerb verb) {
    return commits(verb) || verb == TransactionVerb::rollback || verb == TransactionVerb::abort_;
}

}  // namespace

bool Session::must_wait(const Turn& turn) const {
    if (ledger_.unsynced()) return ledger_.size() >= kLedgerMax;
    if (ledger_.settled()) {
        // A late cancel must not hit the statement behind the one it was meant for.
        return lease_.cancel_in_flight;
    }
    if (ledger_.size() >= kLedgerMax) return true;
    return turn.contended &&
           (lease_.sync_points >= kSyncPointsMax || turn.now - lease_.granted_at >= kHoldMax);
}

bool Session::take_lent(const Frame& frame, const Turn& turn, Outbox& out) {
    const std::optional<FrontendType> type = frontend_type(frame.type);
    if (!type || *type == FrontendType::password) return violation(frame, turn, out);
    if (*type == FrontendType::terminate) {
        on_frontend_gone(Leaving::goodbye, turn, out);
        return true;
    }
    if (must_wait(turn)) return false;
    if (is_resident()) return lent_resident(frame, out);
    if (!refusal_.empty()) return deny_pin(frame, turn, out);
    switch (*type) {
        case FrontendType::query: {
            const QueryRequest query = parse_query(frame.body(), frame.body_is_whole());
            if (!lent_text({}, query.text, frame.body_is_whole(), out)) return false;
            lease_.unnamed_parsed = lease_.unnamed_unbound = false;
            local_statement_.reset();
            forward(frame, Owed::query, out);
            if (state_ == SessionState::starting) lease_.first_unit_sent = true;
            ++lease_.sync_points;
            return true;
        }
        case FrontendType::parse: return lent_parse(frame, out);
        case FrontendType::bind: return lent_bind(frame, out);
        case FrontendType::describe: {
            const TargetRequest target = parse_describe(frame.body(), frame.body_is_whole());
            if (target.kind == 'S' && target.name.empty()) guard_unnamed(out);
            forward(frame, target.kind == 'S' ? Owed::describe_statement : Owed::describe_portal,
                    out);
            return true;
        }
        case FrontendType::execute: forward(frame, Owed::execute, out); return true;
        case FrontendType::close: {
            const TargetRequest target = parse_close(frame.body(), frame.body_is_whole());
            if (target.kind == 'S') remember_statement(target.name, {});
            forward(frame, Owed::close, out);
            return true;
        }
        case FrontendType::function_call:
            lease_.reset_needed = true;
            forward(frame, Owed::function_call, out);
            if (state_ == SessionState::starting) lease_.first_unit_sent = true;
            ++lease_.sync_points;
            return true;
        case FrontendType::sync:
            forward(frame, Owed::sync, out);
            if (state_ == SessionState::starting) lease_.first_unit_sent = true;
            ++lease_.sync_points;
            return true;
        case FrontendType::copy_done:
        case FrontendType::copy_fail: forward(frame, Owed::copy_end, out); return true;
        case FrontendType::flush:
        case FrontendType::copy_data: pass(frame, out); return true;
        case FrontendType::password:
        case FrontendType::terminate: return true;
    }
    return true;
}

void Session::pass(const Frame& frame, Outbox& out) {
    out.to_backend(frame.bytes);
    frontend_rest_ = Rest::forward;
    lease_.worked = true;
}

void Session::forward(const Frame& frame, Owed owed, Outbox& out) {
    ledger_.owe(owed, Origin::frontend);
    pass(frame, out);
    lease_.flushed = false;
}

bool Session::lent_text(std::string_view name, std::string_view text, bool whole, Outbox& out) {
    const TransactionStatement statement =
        whole ? parse_transaction_statement(text) : TransactionStatement{};
    // A block begun behind other work is made virtual like any other, once that work is over;
    // inside a batch the server itself skips what follows a BEGIN that fails.
    if (begins_block(statement.verb) && !ledger_.unsynced() && !ledger_.settled()) return false;
    const TextEffect effect = judged_ ? *judged_ : effect_of(text, whole);
    if ((effect.pins || !name.empty()) && !pin_reserved_) {
        judged_ = effect;
        out.decide(Decision::ask_pin);
        return false;
    }
    judged_.reset();
    if (effect.pins) pins_ |= kPinSessionState;
    // What is made behind a DISCARD ALL of the same lease is not discarded by it.
    if (effect.pins || !name.empty()) lease_.discard_all_sent = false;
    if (effect.resets) lease_.reset_needed = true;
    if (effect.forgets_statements) book_->begin_prepared = 0;
    if (effect.discards_all) lease_.discard_all_sent = true;
    if (commits(statement.verb) || (!whole || (effect.several && may_commit(text)))) {
        lease_.commit_sent = true;
    }
    if (ends_block(statement.verb)) lease_.begin_sent = false;
    if (begins_block(statement.verb) ||
        (effect.several && begins_block(first_verb(text)) && !may_commit(text))) {
        lease_.begin_sent = true;
    }
    return true;
}

bool Session::lent_parse(const Frame& frame, Outbox& out) {
    const ParseRequest parse = parse_parse(frame.body(), frame.body_is_whole());
    if (!lent_text(parse.name, parse.text, frame.body_is_whole(), out)) return false;
    if (parse.name.empty()) {
        lease_.unnamed_parsed = lease_.unnamed_unbound = true;
        lease_.unnamed_kept = false;
        local_statement_.reset();
    } else {
        pins_ |= kPinNamedStatement;
        remember_statement(parse.name, frame.body_is_whole()
                                           ? parse_transaction_statement(parse.text)
                                           : TransactionStatement{});
    }
    forward(frame, Owed::parse, out);
    return true;
}

bool Session::lent_bind(const Frame& frame, Outbox& out) {
    const BindRequest bind = parse_bind(frame.body(), frame.body_is_whole());
    if (const LocalStatement* statement = local_statement(bind.statement)) {
        if (begins_block(statement->verb) && !ledger_.unsynced() && !ledger_.settled())
            return false;
        if (commits(statement->verb)) lease_.commit_sent = true;
        if (ends_block(statement->verb)) lease_.begin_sent = false;
        if (begins_block(statement->verb)) lease_.begin_sent = true;
    }
    if (bind.statement.empty()) {
        guard_unnamed(out);
        lease_.unnamed_unbound = false;
    }
    forward(frame, Owed::bind, out);
    return true;
}

void Session::guard_unnamed(Outbox& out) {
    if (lease_.unnamed_parsed) return;
    std::string& own = out.scratch();
    if (local_statement_) {
        append_parse(own, ledger_, {}, local_statement_->text);
    } else {
        // Another session's unnamed statement may be on this backend; without it the server itself
        // says that there is none.
        append_close_statement(own, ledger_, {});
    }
    out.to_backend(own);
    lease_.unnamed_parsed = true;
}

bool Session::deny_pin(const Frame& frame, const Turn& turn, Outbox& out) {
    judged_.reset();
    if (ledger_.unsynced()) {
        // Part of the batch was sent: it is ended on the server, and its failure is told when
        // everything before it has been answered.
        std::string& abort = out.scratch();
        append_batch_abort(abort, ledger_);
        out.to_backend(abort);
        own_work_ = OwnWork::batch_abort;
        state_ = SessionState::settling;
        return false;
    }
    if (!ledger_.settled()) return false;
    std::string& reply = out.scratch();
    reply.swap(refusal_);
    refusal_.clear();
    block_.fail();
    frontend_rest_ = Rest::drop;
    if (frame.type == static_cast<char>(FrontendType::query)) {
        answer(reply, out);
    } else {
        fail_batch(reply, out);
    }
    state_ = SessionState::settling;
    settle(turn, out);
    return true;
}

bool Session::violation(const Frame& frame, const Turn& turn, Outbox& out) {
    const bool in_lease = state_ != SessionState::idle;
    if (in_lease && !ledger_.unsynced() && !ledger_.settled()) return false;
    say_goodbye(
        sqlstate::kProtocolViolation,
        "invalid frontend message type " + std::to_string(static_cast<unsigned char>(frame.type)),
        out);
    on_frontend_gone(Leaving::reset, turn, out);
    return true;
}

}  // namespace pgb

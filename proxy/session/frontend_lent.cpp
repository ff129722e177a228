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

bool ends_block(TransactionVerb verb) {
    return commits(verb) || verb == TransactionVerb::rollback || verb == TransactionVerb::abort_;
}

}  // namespace

bool Session::must_wait(const Turn& turn) const {
    // Nothing goes behind a cancel of the proxy's own, nor into a batch of its own.
    if (lease_.cancel.own_in_flight() || own_work_ != OwnWork::none) return true;
    if (ledger_.unsynced()) return ledger_.size() >= kLedgerMax;
    if (ledger_.settled()) {
        // A late cancel must not hit the statement behind the one it was meant for.
        return lease_.cancel.in_flight();
    }
    if (ledger_.size() >= kLedgerMax || journal_.in_flight()) return true;
    if (lease_.unit != HouseUnit::none) return lease_.sync_points > 0;
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
    if (must_wait(turn) || !goes_ahead(frame, out)) return false;
    if (lease_.awaits_first_statement) note_first_statement(frame, turn);
    if (is_resident()) return lent_resident(frame, out);
    if (!refusal_.empty()) return deny_pin(frame, turn, out);
    switch (*type) {
        case FrontendType::query: return lent_query(frame, out);
        case FrontendType::parse: return lent_parse(frame, out);
        case FrontendType::bind: return lent_bind(frame, out);
        case FrontendType::describe: return lent_describe(frame, out);
        case FrontendType::execute: return lent_execute(frame, out);
        case FrontendType::close: return lent_close(frame, out);
        case FrontendType::function_call:
            lease_.reset_needed = lease_.locks_changed = true;
            return lent_plain(frame, out);
        case FrontendType::flush:
            if (lease_.unit == HouseUnit::to_flush) return end_batch_at_flush(out);
            return lent_plain(frame, out);
        case FrontendType::sync:
        case FrontendType::copy_done:
        case FrontendType::copy_fail:
        case FrontendType::copy_data:
        case FrontendType::password:
        case FrontendType::terminate: return lent_plain(frame, out);
    }
    return true;
}

// Messages that name no statement and no text: the same for every kind of session.
bool Session::lent_plain(const Frame& frame, Outbox& out) {
    switch (*frontend_type(frame.type)) {
        case FrontendType::function_call:
            forward(frame, Owed::function_call, out);
            book_->last_statement.forget();
            break;
        case FrontendType::sync: forward(frame, Owed::sync, out); break;
        case FrontendType::copy_done:
        case FrontendType::copy_fail: forward(frame, Owed::copy_end, out); return true;
        case FrontendType::flush:
        case FrontendType::copy_data: pass(frame, out); return true;
        case FrontendType::query:
        case FrontendType::parse:
        case FrontendType::bind:
        case FrontendType::describe:
        case FrontendType::execute:
        case FrontendType::close:
        case FrontendType::password:
        case FrontendType::terminate: return true;
    }
    if (state_ == SessionState::starting) lease_.first_unit_sent = true;
    ++lease_.sync_points;
    return true;
}

void Session::pass(const Frame& frame, Outbox& out) {
    out.to_backend(frame.bytes);
    frontend_rest_ = Rest::forward;
    lease_.worked = true;
}

void Session::forward(const Frame& frame, Owed owed, Outbox& out, Note note) {
    ledger_.owe(owed, Origin::frontend, note);
    pass(frame, out);
    lease_.flushed = false;
}

bool Session::lent_query(const Frame& frame, Outbox& out) {
    const QueryRequest query = parse_query(frame.body(), frame.body_is_whole());
    const TextEffect effect = judged_ ? *judged_ : judge(query.text, frame.body_is_whole());
    judged_ = effect;
    StatementTarget target;
    if (effect.names_statement) target = read_statement_target(query.text);
    const bool deallocates =
        target.kind == StatementTarget::Kind::deallocate && statements_.knows(target.name);
    // In a failed block it fails, and the name stays.
    if (deallocates && !ledger_.settled() && !ledger_.unsynced()) return false;
    if (!admit_target(target, out) || !admit_later_targets(effect, query.text, out)) return false;
    if (!lent_text(true, query.text, frame.body_is_whole(), out)) return false;
    StatementWire to = wire(out);
    SessionStatements::Drops drops{.all = effect.drops_all_statements};
    if (deallocates && status_ != TransactionStatus::failed) {
        if (statements_.hand_over(target.name, true, to) == Passage::wait) return false;
        drops.given = target.name;
    }
    const Note note = statements_.query(drops, to);
    lease_.unnamed.bound();
    forward(frame, Owed::query, out, note);
    book_->last_statement.note(query.text);
    if (state_ == SessionState::starting) lease_.first_unit_sent = true;
    ++lease_.sync_points;
    return true;
}

// A Query runs its text at once; one that was only parsed does nothing yet.
bool Session::lent_text(bool runs, std::string_view text, bool whole, Outbox& out) {
    const TransactionStatement statement =
        whole ? parse_transaction_statement(text) : TransactionStatement{};
    // A block begun behind other work is made virtual like any other, once that work is over;
    // inside a batch the server itself skips what follows a BEGIN that fails.
    if (begins_block(statement.verb) && !ledger_.unsynced() && !ledger_.settled()) return false;
    TextEffect effect = judged_ ? *judged_ : judge(text, whole);
    const std::vector<SettingChange>& changes = changes_of(effect, text);
    if (runs) {
        const Follow verdict = may_follow(changes);
        if (verdict == Follow::wait) return false;
        if (verdict == Follow::pin) {
            effect.reasons |= kPinSettings;
            effect.pins = true;
        }
    }
    judged_ = effect;
    if (!admit_effect(effect, out)) return false;
    judged_.reset();
    if (runs) follow(statement.verb, statement.name, changes);
    if (commits(statement.verb) || (!whole || (effect.several && may_commit(text)))) {
        lease_.commit_sent = true;
    }
    if (ends_block(statement.verb)) lease_.begin_sent = false;
    if (ends_block(statement.verb) || effect.several || !whole) lease_.end_sent = true;
    if (begins_block(statement.verb) ||
        (effect.several && begins_block(first_verb(text)) && !may_commit(text))) {
        lease_.begin_sent = true;
    }
    return true;
}

// What a text may leave behind is noted before it is sent. False: it needs a pin first.
bool Session::admit_effect(const TextEffect& effect, Outbox& out) {
    if (effect.pins && !pin_reserved_) {
        out.decide(Decision::ask_pin);
        return false;
    }
    add_pins(effect);
    note_catalog_change(effect);
    if (effect.pins) {
        // What is made behind a DISCARD ALL of the same lease is not discarded by it.
        lease_.discard_all_sent = false;
    }
    if (effect.resets) lease_.reset_needed = true;
    if (effect.forgets_statements) {
        book_->begin_prepared = 0;
        // Prepared ahead of this text, and dropped by it.
        lease_.begin_prepares = false;
    }
    if (effect.discards_all) lease_.discard_all_sent = true;
    return true;
}

bool Session::admit_verb(TransactionVerb verb) {
    if (begins_block(verb) && !ledger_.unsynced() && !ledger_.settled()) return false;
    if (commits(verb)) lease_.commit_sent = true;
    if (ends_block(verb)) {
        lease_.begin_sent = false;
        lease_.end_sent = true;
    }
    if (begins_block(verb)) lease_.begin_sent = true;
    return true;
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
    if (status_ != TransactionStatus::idle) block_.fail();
    frontend_rest_ = Rest::drop;
    if (frame.type == static_cast<char>(FrontendType::query)) {
        local_.answer(reply, out);
    } else {
        local_.fail_batch(reply, out);
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

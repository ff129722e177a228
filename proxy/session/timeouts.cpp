// What time alone ends: a holder whose frontend owes something, a transaction that takes too long, an
// idle frontend.

#include "protocol/error_response.h"
#include "protocol/sqlstate.h"
#include "proxy/session/session.h"

namespace pgb {

void Session::on_tick(const Turn& turn, bool frontend_blocked, Outbox& out) {
    switch (state_) {
        case SessionState::settling:
            if (turn.now >= deadline_) give_up_unclean(turn, out);
            return;
        case SessionState::preparing:
            give_up_late_start(turn, out);
            if (turn.now >= deadline_) give_up_preparing(out);
            return;
        case SessionState::winding_up: wind_down(turn, out); return;
        case SessionState::starting:
        case SessionState::active: break;
        case SessionState::idle:
        case SessionState::queued:
        case SessionState::waiting_backend:
        case SessionState::closed: return;
    }
    if (check_statement_time(turn, out) || check_deadline(turn, out)) return;
    if (!check_transaction_time(turn, frontend_blocked, out)) {
        check_holder(turn, frontend_blocked, out);
    }
}

void Session::check_holder(const Turn& turn, bool frontend_blocked, Outbox& out) {
    if (rules_.holder_idle == Duration::zero()) return;
    // Whoever waits for that lock waits for its holder, as in PostgreSQL.
    if (rests_locked() && !frontend_framer_.in_message()) return;
    const Duration quiet = turn.now - last_activity_;
    // Replies to a batch without its Sync may be waiting in the server's buffer: asking for them
    // tells work that runs from a frontend that owes the Sync.
    if (ledger_.unsynced() && !ledger_.settled() && !ledger_.copying_in() && !lease_.flushed &&
        quiet >= rules_.holder_idle / 2) {
        lease_.flushed = true;
        append_flush(out);
        return;
    }
    const bool awaits_frontend = ledger_.settled() || ledger_.copying_in() || frontend_blocked ||
                                 frontend_framer_.in_message();
    if (!awaits_frontend || quiet < rules_.holder_idle) return;
    evict(sqlstate::kIdleInTransactionSessionTimeout,
          "terminating connection due to idle-in-transaction timeout", turn, frontend_blocked, out);
}

// True when the transaction has had its time and something was done about it.
bool Session::check_transaction_time(const Turn& turn, bool frontend_blocked, Outbox& out) {
    if (rules_.transaction == Duration::zero() || !lease_.worked || lease_.commit_sent)
        return false;
    if (turn.now - lease_.transaction_since < rules_.transaction) return false;
    const std::size_t syncs = ledger_.frontend_syncs();
    const bool in_block = state_ == SessionState::starting || status_ != TransactionStatus::idle;
    if (syncs == 0 || (syncs == 1 && (in_block || ledger_.copying_in()))) {
        // Nothing that was sent can end it otherwise than by a rollback.
        evict_overlong(turn, frontend_blocked, out);
        return true;
    }
    // What runs commits by itself: only the answer to a cancel tells whether it did.
    cancel_or_lose(turn, out);
    return true;
}

void Session::cancel_or_lose(const Turn& turn, Outbox& out) {
    lease_.cancel.begin(turn.now);
    if (lease_.cancel.has_lasted(rules_.cancel_timeout, turn.now)) {
        lose_backend(Decision::orphan_backend, turn, out);
    } else if (lease_.cancel.strike(turn.now)) {
        out.decide(Decision::cancel_backend);
    }
}

// Such a cancel has struck: the transaction is rolled back, and its frontend is told why. One with
// more work behind it gets PostgreSQL's error and goes on, as that work was not overlong.
bool Session::was_overlong(std::string_view code) const {
    return state_ == SessionState::active && lease_.unit == HouseUnit::none &&
           lease_.cancel.is_own() && !lease_.is_past_due && code == sqlstate::kQueryCanceled &&
           ledger_.frontend_syncs() <= 1;
}

void Session::evict_overlong(const Turn& turn, bool frontend_blocked, Outbox& out) {
    evict(sqlstate::kTransactionTimeout, "terminating connection due to transaction timeout", turn,
          frontend_blocked, out);
}

void Session::evict(std::string_view code, std::string_view message, const Turn& turn,
                    bool frontend_blocked, Outbox& out) {
    if (!backend_framer_.in_message() && !frontend_blocked) {
        say_goodbye(code, message, out);
    } else {
        out.decide(Decision::close_frontend);
    }
    // That was the last word.
    lease_.muted = true;
    on_frontend_gone(Leaving::reset, turn, out);
}

Instant Session::idle_since() const {
    const bool between_transactions = state_ == SessionState::idle && refusal_.empty() &&
                                      !local_.is_discarding() && !frontend_framer_.in_message() &&
                                      block_.state() == VirtualBlock::State::none;
    return between_transactions ? last_activity_ : Instant::never();
}

void Session::on_kill(const Turn& turn, bool frontend_blocked, Outbox& out) {
    if (state_ == SessionState::closed || state_ == SessionState::winding_up) return;
    evict(sqlstate::kAdminShutdown, "terminating connection due to administrator command", turn,
          frontend_blocked, out);
}

void Session::on_idle_timeout(const Turn& turn, Outbox& out) {
    if (idle_since().is_never()) return;
    evict(sqlstate::kIdleSessionTimeout, "terminating connection due to idle-session timeout", turn,
          false, out);
}

}  // namespace pgb

// The end of a transaction and of a session: cleaning the backend before anyone else gets it.

#include "protocol/sqlstate.h"
#include "proxy/base/check.h"
#include "proxy/session/session.h"

namespace pgb {

void Session::check_over(const Turn& turn, Outbox& out) {
    if (!lease_.worked || !ledger_.settled() || ledger_.unsynced()) return;
    // The transaction of a unit in a virtual block is the proxy's own, to be rolled back.
    if (status_ != TransactionStatus::idle && lease_.unit == HouseUnit::none) return;
    if (frontend_framer_.in_message() && frontend_rest_ == Rest::forward) return;
    if (backend_framer_.in_message()) return;
    // The batch that was to bind it failed; the statement is still there to be bound.
    if (lease_.error_seen && unnamed_is_stuck()) lease_.unnamed.unbind();
    state_ = SessionState::settling;
    own_work_ = OwnWork::none;
    settle(turn, out);
    if (draining_ && state_ == SessionState::idle) on_drain(turn, out);
}

// One step at a time; called again when the step was answered.
void Session::settle(const Turn& turn, Outbox& out) {
    if (!ledger_.settled() || backend_framer_.in_message()) {
        if (deadline_.is_never()) deadline_ = turn.now + rules_.reset_timeout;
        return;
    }
    if (lease_.discard_all_sent && !lease_.error_seen && status_ == TransactionStatus::idle) {
        // The frontend itself has left nothing behind.
        pins_ = 0;
        settings_.clear();
        effects_.clear();
        book_->settings.clear();
    }
    if (lease_.unpins != 0 && !lease_.error_seen && status_ == TransactionStatus::idle) {
        const PinReasons kept = static_cast<PinReasons>(pins_ & ~lease_.unpins);
        // What no pin keeps any more is not worth a doubt.
        if (kept != pins_ && kept == 0) lease_.reset_needed = true;
        pins_ = kept;
        lease_.unpins = 0;
    }
    if (own_work_ == OwnWork::barrier) ledger_.clear_uncertain();
    if (own_work_ == OwnWork::probe || own_work_ == OwnWork::probe_again) {
        ledger_.clear_ended_without_sync();
        lease_.role_doubted = false;
    }
    // Who keeps its backend meets there what it would meet without the proxy.
    const bool is_given_back = (pins_ & ~kPinUnnamedStatement) == 0 && !lease_.unnamed.is_awaited();
    std::string& own = out.scratch();
    if (status_ != TransactionStatus::idle) {
        append_rollback(own, ledger_);
        if (!journal_.empty()) journal_.sent_verb(TransactionVerb::rollback, {});
        // Any Query drops it.
        book_->statements.unnamed = 0;
        own_work_ = OwnWork::rollback;
    } else if (lease_.cancel.in_flight()) {
        // Its connection closes or times out by itself.
        return;
    } else if (ledger_.uncertain()) {
        append_barrier(own, ledger_);
        own_work_ = OwnWork::barrier;
    } else if ((pins_ & kPinLock) != 0 && lease_.locks_changed) {
        append_lock_question(own, ledger_);
        own_work_ = OwnWork::ask_locks;
        lease_.locks_changed = false;
    } else if (lease_.unnamed.is_awaited() && !pin_reserved_ && state_ == SessionState::settling) {
        out.decide(Decision::ask_pin);
        return;
    } else if ((ledger_.ended_without_sync() || lease_.role_doubted) && is_given_back) {
        append_probe(own, ledger_);
        own_work_ = own_work_ == OwnWork::probe_failed ? OwnWork::probe_again : OwnWork::probe;
    } else if (lease_.reset_needed && is_given_back) {
        append_discard_all(own, ledger_);
        own_work_ = OwnWork::discard;
        lease_.reset_needed = false;
        book_->begin_prepared = 0;
        book_->settings.clear();
        book_->statements.forget_all();
    } else {
        end_lease(out);
        return;
    }
    out.to_backend(own);
    deadline_ = turn.now + rules_.reset_timeout;
}

void Session::end_lease(Outbox& out) {
    if ((pins_ & kPinLock) != 0) {
        rest_locked(out);
        return;
    }
    deadline_ = Instant::never();
    own_work_ = OwnWork::none;
    pins_ = static_cast<PinReasons>(lease_.unnamed.is_awaited() ? pins_ | kPinUnnamedStatement
                                                                : pins_ & ~kPinUnnamedStatement);
    const bool leaving = state_ == SessionState::winding_up;
    if (lease_.unit == HouseUnit::to_flush && lease_.error_seen) local_.fail_open_batch();
    effects_.on_transaction_end();
    // What a reset has taken back on a backend that goes to others is still in force for this session.
    const bool represents = book_->settings == settings_ || (pins_ & kPinSettings) != 0;
    if (!leaving && represents) tell_parameters(out);
    state_ = leaving ? SessionState::closed : SessionState::idle;
    if (pins_ != 0) {
        PGB_CHECK(pin_reserved_ && !leaving);
        reset_owed_ = lease_.reset_needed;
        out.decide(Decision::keep_backend);
        return;
    }
    drop_pin(out);
    const bool spent = lease_.cancel.is_unsure() || lease_.worn_out;
    give_up_backend(spent ? Decision::close_backend : Decision::end_lease, out);
}

void Session::give_up_backend(Decision how, Outbox& out) {
    out.decide(how);
    has_backend_ = false;
    book_ = nullptr;
    ledger_.clear();
    statements_.end_lease();
    deadline_ = Instant::never();
    owed_.forget();
    journal_.clear();
    aim_.reset();
    own_work_ = OwnWork::none;
    if (how != Decision::end_lease) drop_pin(out);
}

void Session::drop_pin(Outbox& out) {
    pins_ = 0;
    if (!pin_reserved_) return;
    pin_reserved_ = false;
    out.decide(Decision::unpin);
}

void Session::on_frontend_gone(Leaving how, const Turn& turn, Outbox& out) {
    switch (state_) {
        case SessionState::queued:
        case SessionState::waiting_backend: out.decide(Decision::leave_queue); [[fallthrough]];
        case SessionState::idle:
            if (!has_backend_) {
                drop_pin(out);
                state_ = SessionState::closed;
                return;
            }
            // Pinned: what it left on its backend is cleaned without a permit, as no transaction of
            // anyone's is involved.
            ledger_.clear();
            statements_.end_lease();
            lease_ = {};
            lease_.reset_needed = true;
            status_ = TransactionStatus::idle;
            break;
        case SessionState::preparing:
        case SessionState::starting:
        case SessionState::active:
        case SessionState::settling: break;
        case SessionState::winding_up:
        case SessionState::closed: return;
    }
    state_ = SessionState::winding_up;
    // Even DISCARD ALL leaves traces, such as the temporary schema: a resident's backend ends with it.
    lease_.worn_out = is_resident();
    lease_.reset_needed = !lease_.worn_out && (lease_.reset_needed || pins_ != 0);
    pins_ = 0;
    lease_.unnamed.give_up();
    block_.leave();
    refusal_.clear();
    if (own_work_ == OwnWork::none) {
        deadline_ = how == Leaving::reset ? turn.now : turn.now + rules_.cancel_after_leave;
    }
    wind_down(turn, out);
}

void Session::wind_down(const Turn& turn, Outbox& out) {
    if (frontend_framer_.in_message() && frontend_rest_ == Rest::forward) {
        // The backend waits for the rest of a message that will never come.
        give_up_backend(Decision::close_backend, out);
        state_ = SessionState::closed;
        return;
    }
    if ((ledger_.unsynced() || ledger_.copying_in()) && !lease_.aborted) {
        // Never a bare Sync: it would commit what the frontend did not finish.
        std::string& abort = out.scratch();
        if (ledger_.unsynced()) {
            append_batch_abort(abort, ledger_);
        } else {
            append_copy_fail(abort, ledger_);
        }
        out.to_backend(abort);
        own_work_ = OwnWork::batch_abort;
        lease_.aborted = true;
        lease_.muted = ledger_.frontend_syncs() <= 1;
    }
    if (!ledger_.settled() || backend_framer_.in_message()) {
        await_or_cancel(turn, out);
        return;
    }
    settle(turn, out);
}

void Session::await_or_cancel(const Turn& turn, Outbox& out) {
    if (turn.now < deadline_ || lease_.commit_sent) return;
    if (is_housework(own_work_)) {
        // settle() set the deadline: a cleaning that does not answer is not waited for.
        give_up_backend(Decision::close_backend, out);
        state_ = SessionState::closed;
        return;
    }
    lease_.cancel.begin(turn.now);
    if (lease_.cancel.strike(turn.now)) {
        out.decide(Decision::cancel_backend);
        return;
    }
    if (lease_.cancel.has_lasted(rules_.cancel_timeout, turn.now)) {
        give_up_backend(Decision::orphan_backend, out);
        state_ = SessionState::closed;
    }
}

}  // namespace pgb

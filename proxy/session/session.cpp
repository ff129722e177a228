#include "proxy/session/session.h"

#include "protocol/error_response.h"
#include "protocol/sqlstate.h"
#include "proxy/base/check.h"

namespace pgb {

bool Session::takes_input() const {
    switch (state_) {
        case SessionState::idle:
        case SessionState::active: return true;
        case SessionState::starting: return !lease_.first_unit_sent;
        case SessionState::preparing:
        case SessionState::queued:
        case SessionState::waiting_backend:
        case SessionState::settling:
        case SessionState::winding_up:
        case SessionState::closed: return false;
    }
    return false;
}

std::size_t Session::on_frontend(std::string_view input, const Turn& turn, Outbox& out) {
    std::size_t used = 0;
    if (turn.now >= lease_.due && state_ == SessionState::active) check_deadline(turn, out);
    while (used < input.size() && takes_input()) {
        Framer ahead = frontend_framer_;
        Frame frame;
        const FrameStatus status = ahead.next(input.substr(used), frame);
        if (status == FrameStatus::need_more) break;
        if (status == FrameStatus::malformed) {
            // PostgreSQL logs it and closes without a word, as nothing it could say would be heard
            // at the right place.
            out.decide(Decision::close_frontend);
            on_frontend_gone(Leaving::reset, turn, out);
            return input.size();
        }
        if (!frame.first) {
            if (frontend_rest_ == Rest::forward) out.to_backend(frame.bytes);
        } else if (state_ == SessionState::idle) {
            if (!take_idle(frame, input.substr(used + frame.bytes.size()), turn, out)) {
                note_asking(frame, turn, out);
                break;
            }
        } else if (!take_lent(frame, turn, out)) {
            if (seen_at_.is_never()) seen_at_ = turn.now;
            break;
        }
        // A judgement is of one message: one that waited may have been answered without it.
        judged_.reset();
        lease_.next_unit = NextUnit::unknown;
        seen_at_ = Instant::never();
        frontend_framer_ = ahead;
        used += frame.bytes.size();
    }
    const bool works = state_ == SessionState::active || state_ == SessionState::starting;
    if (works && !ledger_.settled()) lease_.clock.sent(turn.now);
    if (state_ == SessionState::active) check_over(turn, out);
    if (draining_ && state_ == SessionState::idle) on_drain(turn, out);
    return used;
}

void Session::on_permit(const LeaseRules& rules, const Turn& turn, Outbox& out) {
    PGB_CHECK(state_ == SessionState::queued);
    rules_ = rules;
    lease_ = {};
    lease_.unit = house_unit_;
    lease_.granted_at = lease_.transaction_since = turn.now;
    lease_.due = due(rules.deadline);
    lease_.is_due_by_tag = !told_due_.is_never();
    state_ = SessionState::waiting_backend;
    out.decide(Decision::ask_backend);
}

void Session::on_refused(const ShedFacts& facts) {
    PGB_CHECK(state_ == SessionState::queued || state_ == SessionState::waiting_backend);
    append_refusal(refusal_, facts);
    state_ = SessionState::idle;
}

void Session::on_backend_unavailable(std::string_view sqlstate, std::string_view message) {
    PGB_CHECK(state_ == SessionState::waiting_backend);
    append_backend_unavailable(refusal_, sqlstate, message);
    state_ = SessionState::idle;
}

void Session::on_backend_ready(BackendBook& book, const Turn& turn, Outbox& out) {
    PGB_CHECK(state_ == SessionState::waiting_backend);
    if (is_resident()) {
        resume_resident(turn, out);
        return;
    }
    book_ = &book;
    last_activity_ = turn.now;
    if (lease_.unit != HouseUnit::none) lease_.transaction_since = turn.now;
    ledger_.clear();
    statements_.end_lease();
    // A kept backend may be in the middle of a notification.
    if (!has_backend_) backend_framer_.reset();
    status_ = TransactionStatus::idle;
    own_work_ = OwnWork::none;
    lease_.reset_needed = (has_backend_ && reset_owed_) || rules_.reset_always;
    if ((pins_ & kPinUnnamedStatement) != 0 && unnamed_is_stuck()) lease_.unnamed.keep();
    has_backend_ = true;
    local_.forget_portal();
    if (book.settings == settings_ || (aim_ && book.settings == *aim_) ||
        (pins_ & kPinSettings) != 0) {
        begin_work(out);
    } else {
        prepare(aim_ ? *aim_ : settings_, turn, out);
    }
}

void Session::on_pin_granted(const Turn& turn, Outbox& out) {
    if (state_ == SessionState::closed) {
        // A drain has ended the session behind its question.
        out.decide(Decision::unpin);
        return;
    }
    pin_reserved_ = true;
    if (state_ == SessionState::settling) settle(turn, out);
}

void Session::on_pin_denied(const ShedFacts& facts, const Turn& turn, Outbox& out) {
    if (state_ == SessionState::settling) {
        // The unnamed statement can't be kept. A Bind of it will be told that it does not exist.
        lease_.unnamed.give_up();
        settle(turn, out);
        return;
    }
    append_refusal(refusal_, facts);
}

void Session::on_cancel_closed(bool sure, const Turn& turn, Outbox& out) {
    lease_.cancel.closed(sure);
    if (state_ == SessionState::settling) {
        settle(turn, out);
    } else if (state_ == SessionState::winding_up) {
        wind_down(turn, out);
    } else if (state_ == SessionState::active) {
        check_deadline(turn, out);
    }
}

void Session::on_cancel_request(const Turn& turn, Outbox& out) {
    (void)turn;
    switch (state_) {
        case SessionState::queued:
        case SessionState::waiting_backend:
            out.decide(Decision::leave_queue);
            append_error(refusal_, {.sqlstate = sqlstate::kQueryCanceled,
                                    .message = "canceling statement due to user request"});
            state_ = SessionState::idle;
            return;
        case SessionState::starting:
        case SessionState::active:
            // Nothing owed, nothing to cancel: PostgreSQL would ignore it, too.
            if (ledger_.settled() || lease_.cancel.in_flight()) return;
            lease_.cancel.sent();
            out.decide(Decision::cancel_backend);
            return;
        case SessionState::preparing:
            if (!refusal_.empty()) return;
            append_error(refusal_, {.sqlstate = sqlstate::kQueryCanceled,
                                    .message = "canceling statement due to user request"});
            return;
        case SessionState::idle:
        case SessionState::settling:
        case SessionState::winding_up:
        case SessionState::closed: return;
    }
}

void Session::on_drain(const Turn& turn, Outbox& out) {
    draining_ = true;
    if (rests_locked() && !frontend_framer_.in_message()) {
        say_goodbye(sqlstate::kAdminShutdown, "terminating connection due to administrator command",
                    out);
        on_frontend_gone(Leaving::reset, turn, out);
        return;
    }
    // Idle also means: a block that is virtual, or failed, or a batch that is being discarded.
    // Nothing of any of them is known to PostgreSQL.
    if (state_ != SessionState::idle || !refusal_.empty()) return;
    if (!frontend_framer_.in_message()) {
        say_goodbye(sqlstate::kAdminShutdown, "terminating connection due to administrator command",
                    out);
    }
    on_frontend_gone(Leaving::reset, turn, out);
}

void Session::say_goodbye(std::string_view sqlstate, std::string_view message, Outbox& out) {
    std::string& text = out.scratch();
    append_error(text, {.severity = "FATAL", .sqlstate = sqlstate, .message = message});
    out.to_frontend(text);
    out.decide(Decision::close_frontend);
}

}  // namespace pgb

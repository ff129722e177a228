// This session's settings on a backend before its first byte of work, and the truth about the
// parameters that PostgreSQL reports.
//
// The round trip is the proxy's own, and is confirmed before anything of the frontend's is sent: a
// SET ROLE that fails must never let the work run. Nothing is to be done on a backend that has the
// same settings in force already.

#include "protocol/cursor.h"
#include "protocol/error_response.h"
#include "protocol/sqlstate.h"
#include "protocol/startup.h"
#include "proxy/session/session.h"

namespace pgb {

void Session::prepare(const SettingsBook& wanted, const Turn& turn, Outbox& out) {
    wanted_ = wanted;
    std::string& own = out.scratch();
    append_settings(own, ledger_, book_->settings, wanted_);
    out.to_backend(own);
    own_work_ = OwnWork::prepare;
    state_ = SessionState::preparing;
    deadline_ = turn.now + rules_.reset_timeout;
}

// The message that asked for the lease is refused with PostgreSQL's own words when it is taken; it
// was not sent. Whatever the backend has in force now, nobody else gets it.
bool Session::prepare_failed(const Frame& frame, Outbox& out) {
    const bool leaving = state_ == SessionState::winding_up;
    if (!leaving && refusal_.empty()) keep_as_refusal(frame);
    give_up_backend(Decision::close_backend, out);
    state_ = leaving ? SessionState::closed : SessionState::idle;
    return false;
}

void Session::keep_as_refusal(const Frame& error) {
    refusal_.clear();
    if (error.whole()) {
        refusal_ = error.bytes;
    } else {
        append_error(refusal_, {.sqlstate = sqlstate::kInternalError,
                                .message = "the session could not be set up on its backend"});
    }
}

void Session::prepared(const Turn& turn, Outbox& out) {
    if (!ledger_.settled()) return;
    own_work_ = OwnWork::none;
    deadline_ = Instant::never();
    if (!refusal_.empty()) {
        // Cancelled meanwhile. A CancelRequest for the proxy's own statements would cost the
        // backend; what it was meant for never starts.
        state_ = SessionState::settling;
        settle(turn, out);
        return;
    }
    begin_work(out);
}

void Session::give_up_preparing(Outbox& out) {
    refusal_.clear();
    append_error(refusal_, {.sqlstate = sqlstate::kSerializationFailure,
                            .message = "the backend did not take this session's settings in time",
                            .hint = "retry_after_ms=1 reason=backend_lost",
                            .routine = "backend_lost"});
    give_up_backend(Decision::close_backend, out);
    state_ = SessionState::idle;
}

void Session::begin_work(Outbox& out) {
    aim_.reset();
    tell_parameters(out);
    std::string& prefix = out.scratch();
    owed_.settle(prefix, ledger_, statements_.unnamed().latest());
    if (block_.state() == VirtualBlock::State::open) {
        lease_.begin_prepares = append_begin(prefix, ledger_, block_, *book_);
        state_ = SessionState::starting;
    } else {
        state_ = SessionState::active;
    }
    out.to_backend(prefix);
}

// The frontend is told what it does not believe already. While the proxy itself is at work nothing
// is told: what is true behind that is told then.
bool Session::take_parameter(const Frame& frame, Outbox& out) {
    Cursor body(frame.body());
    const std::string_view name = body.cstring();
    const std::string_view value = body.cstring();
    if (body.failed()) {
        deliver(frame, Ruling::forward, out);
        return true;
    }
    book_->reported.set(name, value);
    if (own_work_ == OwnWork::none && told_.set(name, value)) {
        deliver(frame, Ruling::forward, out);
    }
    return true;
}

void Session::tell_parameters(Outbox& out) {
    if (told_.joins(book_->reported)) return;
    std::string& text = out.scratch();
    book_->reported.for_each([this, &text](std::string_view name, std::string_view value) {
        if (told_.set(name, value)) append_parameter_status(text, name, value);
    });
    out.to_frontend(text);
}

}  // namespace pgb

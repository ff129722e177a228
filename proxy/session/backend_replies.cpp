// What the backend sends: forwarded, swallowed when it answers the proxy, or the end of the lease.

#include "protocol/cursor.h"
#include "protocol/error_response.h"
#include "protocol/sqlstate.h"
#include "proxy/session/session.h"

namespace pgb {

namespace {
// Sent at any time, in answer to nothing (manual, "Asynchronous Operations").
bool is_asynchronous(BackendType type) {
    return type == BackendType::notice_response || type == BackendType::parameter_status ||
           type == BackendType::notification_response;
}

// A backend whose role was dropped since its login has no privileges any more, also when the role was
// made anew, and can't say the role's name.
bool doubts_role(const ErrorFields& error) {
    return error.sqlstate == sqlstate::kInsufficientPrivilege ||
           (error.sqlstate == sqlstate::kUndefinedObject && error.routine == "GetUserNameFromId");
}
}  // namespace

std::size_t Session::on_backend(std::string_view input, const Turn& turn, Outbox& out) {
    std::size_t used = 0;
    last_activity_ = turn.now;
    while (used < input.size() && has_backend_ && state_ != SessionState::closed) {
        Frame frame;
        const FrameStatus status = backend_framer_.next(input.substr(used), frame);
        if (status == FrameStatus::need_more) break;
        if (status == FrameStatus::malformed) {
            distrust_backend(turn, out);
            return input.size();
        }
        used += frame.bytes.size();
        if (!frame.first) {
            if (backend_rest_ == Rest::forward) out.to_frontend(frame.bytes);
            if (backend_rest_ == Rest::shape) {
                read_shape(frame, static_cast<BackendType>(frame.type));
            }
        } else if (!take_reply(frame, turn, out)) {
            return input.size();
        }
    }
    if (has_backend_) after_replies(turn, out);
    return used;
}

bool Session::take_reply(const Frame& frame, const Turn& turn, Outbox& out) {
    backend_rest_ = Rest::drop;
    const std::optional<BackendType> type = backend_type(frame.type);
    if (!type) {
        distrust_backend(turn, out);
        return false;
    }
    if (is_asynchronous(*type)) return take_asynchronous(frame, out);
    if (*type == BackendType::error_response) return take_error(frame, turn, out);
    const Ruling ruling = ledger_.on_reply(*type);
    if (ruling == Ruling::unexpected) {
        distrust_backend(turn, out);
        return false;
    }
    if (*type == BackendType::command_complete) {
        if (!journal_.empty()) journal_.on_tag(Cursor(frame.body()).cstring());
        if (own_work_ == OwnWork::ask_locks) note_lock_answer(Cursor(frame.body()).cstring());
    }
    if (ruling == Ruling::swallow &&
        (*type == BackendType::parameter_description || *type == BackendType::row_description)) {
        read_shape(frame, *type);
        return true;
    }
    statements_.on_noted(ledger_.take_noted(), *book_);
    if (*type == BackendType::ready_for_query) {
        if (ruling == Ruling::forward) {
            out.note_statement(lease_.clock.answered(turn.now, !ledger_.settled()));
        }
        take_ready(frame, ruling, out);
        return true;
    }
    if (state_ == SessionState::starting && ruling == Ruling::swallow) note_own_reply(*type);
    deliver(frame, ruling, out);
    return true;
}

void Session::note_own_reply(BackendType type) {
    if (type == BackendType::parse_complete && lease_.begin_prepares) {
        book_->begin_prepared |= std::uint64_t{1} << block_.modes().index();
        lease_.begin_prepares = false;
    }
    if (ledger_.next_is_own()) return;
    // BEGIN and the savepoints are done: the block is the backend's now, if it is the frontend's.
    if (lease_.unit == HouseUnit::none) block_.leave();
    status_ = TransactionStatus::in_block;
    state_ = SessionState::active;
}

// Only the proxy's own Describes are answered by these and swallowed. What the answer tells is
// complete with its last piece.
void Session::read_shape(const Frame& frame, BackendType type) {
    statements_.read_shape(frame.type, frame.first, frame.bytes);
    backend_rest_ = Rest::shape;
    if (frame.last && type == BackendType::row_description) {
        statements_.on_noted(ledger_.take_noted(), *book_);
    }
}

void Session::deliver(const Frame& frame, Ruling ruling, Outbox& out) {
    if (ruling != Ruling::forward || lease_.muted) return;
    out.to_frontend(frame.bytes);
    backend_rest_ = Rest::forward;
}

bool Session::take_asynchronous(const Frame& frame, Outbox& out) {
    if (frame.type == static_cast<char>(BackendType::parameter_status) && frame.body_is_whole()) {
        return take_parameter(frame, out);
    }
    // While the backend is cleaned its remarks are about the proxy's own statements.
    const bool notice = frame.type == static_cast<char>(BackendType::notice_response);
    if (notice && own_work_ != OwnWork::none) return true;
    deliver(frame, Ruling::forward, out);
    return true;
}

bool Session::take_error(const Frame& frame, const Turn& turn, Outbox& out) {
    const std::optional<ErrorFields> fields =
        frame.body_is_whole() ? parse_error(frame.body()) : std::nullopt;
    if (fields && is_fatal(*fields)) {
        // The frontend broke the protocol itself: it gets what PostgreSQL says, and the end.
        if (fields->sqlstate == sqlstate::kProtocolViolation && state_ != SessionState::settling &&
            state_ != SessionState::winding_up) {
            out.to_frontend(frame.bytes);
            out.decide(Decision::close_frontend);
            give_up_backend(Decision::close_backend, out);
            state_ = SessionState::closed;
            return false;
        }
        // Its process says so before it ends the transaction.
        if (!end_resident(frame, out)) distrust_backend(turn, out);
        return false;
    }
    if (own_work_ == OwnWork::prepare) return prepare_failed(frame, out);
    lease_.error_seen = true;
    lease_.role_doubted = lease_.role_doubted || (fields && doubts_role(*fields));
    // A changed result: somebody has changed the catalogs unseen.
    if (fields && fields->sqlstate == sqlstate::kFeatureNotSupported) statements_.doubt_known();
    if (!journal_.empty()) journal_.on_error();
    std::string_view instead;
    if (ledger_.next_is_noted()) instead = statements_.on_error();
    if (!instead.empty()) {
        std::string& error = out.scratch();
        error = instead;
        if (!lease_.muted) out.to_frontend(error);
    }
    const Ruling ruling = ledger_.on_reply(BackendType::error_response);
    statements_.on_noted(ledger_.take_noted(), *book_);
    if (!instead.empty()) return true;
    if (ruling == Ruling::unexpected) {
        distrust_backend(turn, out);
        return false;
    }
    if (ruling == Ruling::forward) {
        if (fields && tell_past_due(fields->sqlstate, out)) return true;
        if (fields && was_overlong(fields->sqlstate)) {
            evict_overlong(turn, false, out);
            return has_backend_;
        }
        std::string words;
        if (frame.whole()) words = statements_.in_client_words(frame.body(), *book_);
        if (words.empty() || lease_.muted) {
            deliver(frame, ruling, out);
        } else {
            std::string& error = out.scratch();
            error.swap(words);
            out.to_frontend(error);
        }
        return true;
    }
    if (state_ == SessionState::starting) {
        // Before anything of the frontend's was sent it is the refusal of what asked for the lease.
        if (lease_.worked) {
            deliver(frame, Ruling::forward, out);
        } else {
            keep_as_refusal(frame);
        }
        begin_failed(out);
        return true;
    }
    own_error(turn, out);
    return has_backend_;
}

void Session::begin_failed(Outbox& out) {
    // The server skips what was sent of the frontend's first unit; the frontend has the error in
    // answer to it. A Query is complete, so it is answered; of a batch the rest is discarded up to
    // the frontend's own Sync, whether that is still to come or was sent already.
    block_.fail();
    lease_.begin_prepares = false;
    const bool open_batch = !lease_.first_unit_sent;
    state_ = SessionState::settling;
    if (ledger_.has_sync()) {
        ledger_.adopt_sync();
    } else {
        std::string& sync = out.scratch();
        append_sync(sync, ledger_);
        out.to_backend(sync);
    }
    if (!lease_.worked) return;
    if (open_batch) {
        local_.discard_batch();
    } else {
        std::string& reply = out.scratch();
        local_.answer(reply, out);
    }
}

void Session::own_error(const Turn& turn, Outbox& out) {
    switch (own_work_) {
        case OwnWork::batch_abort:
            if (state_ == SessionState::settling && !refusal_.empty()) {
                std::string& reply = out.scratch();
                reply.swap(refusal_);
                refusal_.clear();
                if (status_ != TransactionStatus::idle) block_.fail();
                local_.discard_batch();
                out.to_frontend(reply);
            }
            return;
        case OwnWork::probe: own_work_ = OwnWork::probe_failed; return;
        case OwnWork::rollback:
        case OwnWork::barrier:
        case OwnWork::probe_failed:
        case OwnWork::probe_again:
        case OwnWork::discard:
            // A backend that can't be cleaned is never lent again.
            give_up_unclean(turn, out);
            return;
        case OwnWork::ask_locks: return;
        case OwnWork::prepare:
        case OwnWork::none: distrust_backend(turn, out); return;
    }
}

void Session::take_ready(const Frame& frame, Ruling ruling, Outbox& out) {
    const std::optional<TransactionStatus> status = parse_ready_for_query(frame.body());
    status_ = status.value_or(TransactionStatus::failed);
    // COMMIT AND CHAIN, or a text that goes on behind its COMMIT.
    const bool is_next = lease_.commit_sent && ledger_.settled();
    if (ledger_.settled()) lease_.commit_sent = lease_.begin_sent = lease_.end_sent = false;
    if (own_work_ == OwnWork::prepare) book_->settings = wanted_;
    if (!journal_.empty()) settle_settings();
    settle_catalog_change();
    if (status_ == TransactionStatus::idle && state_ == SessionState::active) {
        lease_.transaction_since = last_activity_;
        lease_.cancel.end();
    }
    if (state_ == SessionState::active && (is_next || status_ == TransactionStatus::idle)) {
        renew_deadline(last_activity_);
    }
    if (state_ == SessionState::active && own_work_ == OwnWork::batch_abort &&
        ruling == Ruling::swallow) {
        own_work_ = OwnWork::none;
    }
    if (ruling == Ruling::forward && lease_.unit != HouseUnit::none &&
        block_.state() != VirtualBlock::State::none) {
        answer_in_virtual_block(out);
        return;
    }
    deliver(frame, ruling, out);
}

void Session::after_replies(const Turn& turn, Outbox& out) {
    switch (state_) {
        case SessionState::starting: return;
        case SessionState::preparing:
            prepared(turn, out);
            if (draining_ && state_ == SessionState::idle) on_drain(turn, out);
            return;
        case SessionState::active: check_over(turn, out); return;
        case SessionState::settling:
            settle(turn, out);
            if (draining_ && state_ == SessionState::idle) on_drain(turn, out);
            return;
        case SessionState::winding_up: wind_down(turn, out); return;
        case SessionState::idle:
        case SessionState::queued:
        case SessionState::waiting_backend:
        case SessionState::closed: return;
    }
}

}  // namespace pgb

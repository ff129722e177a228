// The truth about a transaction whose backend was lost.
//
//   nothing of it was sent                              40001 backend_lost; nothing happened
//   in a block, nothing sent that could end it          40001 backend_lost; PostgreSQL rolls back
//   COMMIT or an autocommit statement was sent          08007; it may or may not have happened
//
// PostgreSQL's own FATAL is not forwarded: it ends a connection, and the session's lives on. Only a
// session whose state lived on that backend ends with it.

#include <utility>

#include "protocol/error_response.h"
#include "protocol/sqlstate.h"
#include "proxy/session/session.h"

namespace pgb {

namespace {

void append_rolled_back(std::string& out) {
    append_error(out,
                 {.sqlstate = sqlstate::kSerializationFailure,
                  .message = "the backend was lost inside the transaction, which is rolled back",
                  .hint = "retry_after_ms=1 reason=backend_lost",
                  .routine = "backend_lost"});
}

void append_unknown(std::string& out) {
    append_error(out, {.sqlstate = sqlstate::kTransactionResolutionUnknown,
                       .message = "the backend was lost after the statement was sent; whether it "
                                  "took effect is not known",
                       .routine = "backend_lost"});
}

}  // namespace

void Session::on_backend_lost(const Turn& turn, Outbox& out) {
    lose_backend(Decision::drop_backend, turn, out);
}

// PostgreSQL may still be busy with it: its permit stays held until it is seen to end.
void Session::distrust_backend(const Turn& turn, Outbox& out) {
    lose_backend(Decision::close_backend, turn, out);
}

void Session::lose_backend(Decision how, const Turn& turn, Outbox& out) {
    const bool leaving = state_ == SessionState::winding_up;
    const bool working = state_ == SessionState::preparing || state_ == SessionState::starting ||
                         state_ == SessionState::active;
    const bool settling = state_ == SessionState::settling;
    if (!has_backend_) return;
    if (is_resident() && !leaving) {
        lose_resident(how, out);
        return;
    }
    const bool lost_state = (pins_ & ~kPinUnnamedStatement) != 0;
    // Housekeeping can do nothing that a block could not undo.
    const bool in_block = state_ == SessionState::starting || status_ != TransactionStatus::idle ||
                          (lease_.unit != HouseUnit::none && lease_.worked &&
                           block_.state() != VirtualBlock::State::none);
    const bool unknown = lease_.worked && (!in_block || lease_.commit_sent);
    if (leaving) {
        give_up_backend(how, out);
        state_ = SessionState::closed;
        return;
    }
    if (working && backend_framer_.in_message() && backend_rest_ == Rest::forward) {
        // The frontend has half a message: nothing can be said behind it.
        out.decide(Decision::close_frontend);
        give_up_backend(how, out);
        state_ = SessionState::closed;
        return;
    }
    if (working && lease_.worked) {
        tell_lost(unknown, out);
    } else if (working) {
        // Only the proxy's own BEGIN was sent: the message that asked for the lease is refused when
        // it is taken, and the block is still virtual, or fails if BEGIN had been confirmed.
        if (in_block) block_.fail();
        refusal_.clear();
        append_rolled_back(refusal_);
    }
    // The batch that a denied pin has ended; any other refusal is of a message still to be taken.
    if (settling && own_work_ == OwnWork::batch_abort && !refusal_.empty()) {
        std::string& reply = out.scratch();
        reply.swap(refusal_);
        refusal_.clear();
        local_.discard_batch();
        if (in_block) block_.fail();
        out.to_frontend(reply);
    }
    const bool waits = state_ == SessionState::queued || state_ == SessionState::waiting_backend;
    frontend_rest_ = Rest::drop;
    backend_framer_.reset();
    give_up_backend(how, out);
    // A kept backend may be lost while its session waits for a permit; what is in line stays there.
    if (!waits) state_ = SessionState::idle;
    if (lost_state) {
        say_goodbye(sqlstate::kAdminShutdown, "the backend that held this session's state was lost",
                    out);
        on_frontend_gone(Leaving::reset, turn, out);
    } else if (draining_) {
        on_drain(turn, out);
    }
}

// It can't be cleaned. What its session had on it and nowhere else is lost with it.
void Session::give_up_unclean(const Turn& turn, Outbox& out) {
    if (is_resident()) {
        lose_resident(Decision::close_backend, out);
        return;
    }
    const bool leaving = state_ == SessionState::winding_up;
    const bool lost_state = (pins_ & ~kPinUnnamedStatement) != 0;
    give_up_backend(Decision::close_backend, out);
    state_ = leaving ? SessionState::closed : SessionState::idle;
    if (leaving || !lost_state) return;
    say_goodbye(sqlstate::kAdminShutdown, "the backend that held this session's state was lost",
                out);
    on_frontend_gone(Leaving::reset, turn, out);
}

void Session::tell_lost(bool resolution_unknown, Outbox& out) {
    const bool open_batch = ledger_.unsynced();
    std::size_t syncs = ledger_.frontend_syncs();
    // A frontend that has sent BEGIN behind other work may be writing what belongs into that block.
    if (resolution_unknown && !lease_.begin_sent) {
        block_.leave();
    } else {
        block_.fail();
    }
    if (lease_.unit == HouseUnit::to_flush && !open_batch) {
        tell_flushed_batch_lost(out);
        return;
    }
    if (syncs == 0 && !open_batch) {
        // Nothing is owed: the frontend learns it when it speaks next.
        std::string error;
        if (!resolution_unknown) append_rolled_back(error);
        local_.tell_later(std::move(error));
        return;
    }
    std::string& reply = out.scratch();
    bool told = false;
    bool one_was_told = ledger_.error_told();
    const auto append_next_error = [&] {
        // One batch, one error.
        if (std::exchange(one_was_told, false)) return;
        if (resolution_unknown) {
            append_unknown(reply);
        } else if (!told) {
            append_rolled_back(reply);
        } else {
            append_in_failed_block(reply);
        }
        told = true;
    };
    for (; syncs > 0; --syncs) {
        append_next_error();
        append_ready_for_query(reply, block_.status());
    }
    if (open_batch) {
        append_next_error();
        local_.discard_batch();
    }
    out.to_frontend(reply);
}

}  // namespace pgb

// When a transaction must be over: by the tag `deadline_ms` of the statement that begins it, or by its
// workload for one that brings none. Until it has a permit that is the gate's business, until it has
// a backend its driver's; here is where it comes from, and what happens at it on a backend.
//
//   something runs              cancelled; the frontend gets PostgreSQL's own 57014
//   COPY FROM STDIN             CopyFail in its stead, as the server reads no cancel then
//   a batch without its Sync    ended on the server; the frontend gets 57014, the rest is discarded
//   a block between statements  rolled back; its next statement gets 57014, and the block has failed
//   a COMMIT was sent           nothing

#include <algorithm>
#include <utility>

#include "protocol/deadline_tag.h"
#include "protocol/error_response.h"
#include "protocol/request.h"
#include "protocol/sqlstate.h"
#include "proxy/session/session.h"

namespace pgb {

namespace {

void append_past_deadline(std::string& out) {
    append_error(out, {.sqlstate = sqlstate::kQueryCanceled,
                       .message = "the deadline of the transaction has passed; it is rolled back",
                       .routine = "deadline"});
}

bool is_a(const Frame& frame, FrontendType type) { return frame.type == static_cast<char>(type); }

}  // namespace

// The first message of a transaction has asked for a permit, or for a pin and will.
void Session::note_asking(const Frame& frame, const Turn& turn, Outbox& out) {
    // Whoever has read it has left it here.
    const StatementText text =
        asked_.text.empty() ? text_of(frame) : std::exchange(asked_, StatementText{});
    if (classed_by_ != ClassedBy::login) {
        const bool by_name = is_a(frame, FrontendType::bind) || is_a(frame, FrontendType::describe);
        if (classed_by_ == ClassedBy::texts || !by_name) out.about(text);
    }
    if (seen_at_.is_never()) seen_at_ = turn.now;
    const DeadlineTag tag = deadline_tag(text.text, text.whole);
    told_due_ = tag.milliseconds ? seen_at_ + std::chrono::milliseconds(*tag.milliseconds)
                                 : Instant::never();
    if (tag.garbled) out.note_garbled_deadline();
    if (block_.state() == VirtualBlock::State::open) told_due_ = std::min(told_due_, block_.due());
}

Instant Session::due(Duration by_default) const {
    if (!told_due_.is_never() || by_default <= Duration::zero()) return told_due_;
    return seen_at_ + by_default;
}

// A tag on BEGIN, or on what else belongs to a virtual block, counts from there.
void Session::note_local_deadline(const Frame& frame, const Turn& turn) {
    const bool is_query = is_a(frame, FrontendType::query);
    if (is_query || is_a(frame, FrontendType::bind)) {
        const StatementText text = text_of(frame);
        bound_time_ = deadline_tag(text.text, text.whole).milliseconds.value_or(kNoTime);
    }
    const bool is_run = is_query || is_a(frame, FrontendType::execute);
    if (!is_run || bound_time_ == kNoTime || block_.state() != VirtualBlock::State::open) return;
    block_.finish_by(turn.now + std::chrono::milliseconds(bound_time_));
    bound_time_ = kNoTime;
}

// The permit was there before the transaction: a BEGIN went to the backend like any statement, or an
// advisory lock has kept it. The first statement behind BEGIN is heard, too.
void Session::note_first_statement(const Frame& frame, const Turn& turn) {
    if (!is_a(frame, FrontendType::query) && !is_a(frame, FrontendType::parse) &&
        !is_a(frame, FrontendType::bind)) {
        return;
    }
    const StatementText text = text_of(frame);
    const DeadlineTag tag = deadline_tag(text.text, text.whole);
    if (tag.milliseconds) {
        const Instant told = turn.now + std::chrono::milliseconds(*tag.milliseconds);
        lease_.due = lease_.is_due_by_tag ? std::min(lease_.due, told) : told;
        lease_.is_due_by_tag = true;
    } else if (lease_.due.is_never()) {
        renew_deadline(turn.now);
    }
    lease_.awaits_first_statement = begins_block(first_verb(text.text));
}

// The next transaction on the same lease; what has a tag never is one (waits_for_deadline).
void Session::renew_deadline(Instant since) {
    lease_.due = rules_.deadline > Duration::zero() ? since + rules_.deadline : Instant::never();
    lease_.is_due_by_tag = lease_.is_past_due = lease_.owes_past_due = false;
}

// A cancel strikes whatever runs when it arrives, and one time is kept for each lease. So a unit with
// a deadline of its own goes alone: it, and what stands behind it, waits for the answer to what was
// sent before. Its time counts all the same.
bool Session::waits_for_deadline(const Frame& frame) const {
    if (lease_.is_due_by_tag) return true;
    const StatementText text = text_of(frame);
    return deadline_tag(text.text, text.whole).milliseconds.has_value();
}

// True: it has passed, and something is under way about it.
bool Session::check_deadline(const Turn& turn, Outbox& out) {
    if (turn.now < lease_.due || lease_.commit_sent || own_work_ != OwnWork::none) return false;
    // Nothing of the frontend's was sent yet; what asked for the lease is about to be.
    if (!lease_.worked) return false;
    // The server waits for the rest of a message.
    if (frontend_framer_.in_message() && frontend_rest_ == Rest::forward) return false;
    const bool over =
        ledger_.settled() && !ledger_.unsynced() && status_ == TransactionStatus::idle;
    if (over || lease_.owes_past_due) return false;
    if (!lease_.is_past_due) out.note_past_deadline();
    lease_.is_past_due = true;
    if (lease_.cancel.in_flight()) return true;
    if (!ledger_.settled()) return stop_running(turn, out);
    if (backend_framer_.in_message()) return true;
    if ((pins_ & kPinLock) != 0) return fail_on_backend(out);
    if (!ledger_.unsynced()) {
        roll_back(turn, out);
        return true;
    }
    // It owes its Sync only.
    if (ledger_.skipping()) return false;
    append_past_deadline(refusal_);
    std::string& abort = out.scratch();
    append_batch_abort(abort, ledger_);
    out.to_backend(abort);
    own_work_ = OwnWork::batch_abort;
    state_ = SessionState::settling;
    return true;
}

bool Session::stop_running(const Turn& turn, Outbox& out) {
    if (ledger_.copying_in()) {
        lease_.cancel.begin_gently(turn.now);
        std::string& fail = out.scratch();
        append_copy_fail(fail, ledger_, "the deadline of the transaction has passed");
        out.to_backend(fail);
        return true;
    }
    lease_.cancel.begin(turn.now);
    if (lease_.cancel.has_lasted(rules_.cancel_timeout, turn.now)) return false;
    if (!lease_.cancel.strike(turn.now)) return true;
    if (ledger_.unsynced() && !lease_.flushed) {
        // The answers may be there, and only not sent yet.
        lease_.flushed = true;
        append_flush(out);
    }
    out.decide(Decision::cancel_backend);
    return true;
}

// Nothing of the frontend's is on its way.
void Session::roll_back(const Turn& turn, Outbox& out) {
    if (status_ == TransactionStatus::in_block) {
        std::string error;
        append_past_deadline(error);
        local_.tell_later(std::move(error));
    }
    block_.fail();
    lease_.error_seen = true;
    state_ = SessionState::settling;
    settle(turn, out);
}

// A holder of advisory locks keeps its backend lent: its block fails there, by a batch of ours.
bool Session::fail_on_backend(Outbox& out) {
    if (status_ != TransactionStatus::in_block || ledger_.unsynced()) return false;
    std::string& abort = out.scratch();
    append_batch_abort(abort, ledger_);
    out.to_backend(abort);
    own_work_ = OwnWork::batch_abort;
    lease_.owes_past_due = true;
    return true;
}

// The first complaint about the block that has failed so: it failed for its deadline.
bool Session::tell_past_due(std::string_view sqlstate, Outbox& out) {
    if (!lease_.owes_past_due || sqlstate != sqlstate::kInFailedSqlTransaction) return false;
    lease_.owes_past_due = false;
    std::string& error = out.scratch();
    append_past_deadline(error);
    out.to_frontend(error);
    return true;
}

// Nothing was sent yet, and nothing will be.
void Session::give_up_late_start(const Turn& turn, Outbox& out) {
    if (turn.now < lease_.due || !refusal_.empty()) return;
    append_past_deadline(refusal_);
    out.note_past_deadline();
}

}  // namespace pgb

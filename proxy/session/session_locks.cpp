// Advisory locks of the session. One who holds some keeps not only its backend but its permit, or
// its unlock could be refused while others wait for the lock inside their permits. Which locks there
// are is not to be seen in texts (pg_try_advisory_lock may have got none): behind each transaction
// that may have changed it PostgreSQL is asked.

#include "proxy/session/session.h"

namespace pgb {

// Between the transactions of a holder: the backend is lent, and nothing of the frontend's is on it.
bool Session::rests_locked() const {
    return state_ == SessionState::active && (pins_ & kPinLock) != 0 && !lease_.worked &&
           ledger_.settled() && status_ == TransactionStatus::idle;
}

void Session::note_lock_text(const TextEffect& effect) {
    if ((pins_ & kPinLock) == 0) return;
    if ((effect.reasons & kPinLock) != 0 || effect.unlocks || effect.resets) {
        lease_.locks_changed = true;
    }
}

// Without an answer (an error, as of a statement_timeout) the locks are taken to be there.
void Session::note_lock_answer(std::string_view tag) {
    if (tag == "SELECT 0") pins_ = static_cast<PinReasons>(pins_ & ~kPinLock);
}

// The next message goes to the backend as in any lease; nothing is asked for it.
void Session::rest_locked(Outbox& out) {
    state_ = SessionState::active;
    own_work_ = OwnWork::none;
    deadline_ = Instant::never();
    const Lease before = lease_;
    lease_ = {};
    lease_.granted_at = before.granted_at;
    lease_.clock = before.clock;
    lease_.reset_needed = before.reset_needed;
    lease_.cancel = before.cancel;
    lease_.cancel.restart();
    lease_.awaits_first_statement = true;
    if (before.unnamed.is_awaited()) lease_.unnamed.keep();
    tell_parameters(out);
}

}  // namespace pgb

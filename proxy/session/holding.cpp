#include "proxy/session/holding.h"

#include <algorithm>

#include "proxy/session/session.h"

namespace pgb {

Holding Session::holding() const {
    Holding holding{Activity::running, std::max(lease_.clock.since(), lease_.granted_at)};
    switch (state_) {
        case SessionState::idle:
        case SessionState::queued:
        case SessionState::waiting_backend:
            holding.activity = Activity::waiting_backend;
            holding.since = lease_.granted_at;
            break;
        case SessionState::preparing:
        case SessionState::settling: holding.activity = Activity::cleaning; break;
        case SessionState::starting: break;
        case SessionState::active:
            if (rests_locked()) {
                holding.activity = Activity::locked;
            } else if (ledger_.settled() || ledger_.copying_in()) {
                holding.activity = Activity::awaiting_frontend;
            }
            break;
        case SessionState::winding_up:
        case SessionState::closed: holding.activity = Activity::leaving; break;
    }
    return holding;
}

}  // namespace pgb

// The lane of housekeeping: a workload that is in no file, with one permit, and a session's way into
// it. What belongs there is decided by the session (proxy/session/housekeeping_texts.h).

#include "proxy/app/housekeeping.h"

#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"

namespace pgb {

config::Workload housekeeping_workload(const config::Config& config) {
    config::Workload lane;
    lane.name = config::kHousekeepingName;
    lane.concurrency = config.housekeeping.concurrency;
    lane.queue = config.limits.max_clients;
    lane.queue_wait = config.housekeeping.wait;
    // All of a unit was seen before it asked, so nobody can owe anything for long.
    lane.holder_idle_timeout = config.housekeeping.statement_timeout;
    return lane;
}

// A warning about the workload that a SET has chosen comes with the SET, as ever.
void FrontendConnection::ask_housekeeping() {
    choose_workload();
    const LaneId own{static_cast<std::uint16_t>(workload_)};
    if (session_->may_use_own_lane() && server_.gate().has_room(own)) {
        ask_permit();
        return;
    }
    workload_ = static_cast<std::uint32_t>(server_.housekeeping());
    arrive();
}

}  // namespace pgb

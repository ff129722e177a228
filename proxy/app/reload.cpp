// A reload, as far as the server has to do with it: what is in force changes between two turns, and
// everybody who keeps a copy of it or a number is told.

#include "proxy/app/server.h"

namespace pgb {

namespace {

LaneMode lane_mode(config::Mode mode) {
    switch (mode) {
        case config::Mode::enforce: return LaneMode::enforce;
        case config::Mode::shadow: return LaneMode::shadow;
        case config::Mode::off: return LaneMode::off;
    }
    return LaneMode::enforce;
}

LaneBudget lane_budget(const config::Workload& workload) {
    return {.concurrency = static_cast<std::uint32_t>(workload.concurrency),
            .queue = static_cast<std::uint32_t>(workload.queue),
            .queue_wait = workload.queue_wait};
}

}  // namespace

std::vector<config::Change> Server::reload(const config::Config& wanted) {
    std::vector<config::Change> changes = config_.apply(wanted);
    set_lanes();
    tls_doors_.reload();
    for (const auto& database : databases_) database->on_reload();
    if (idle_watch_.timeout() != config().limits.client_idle_timeout) {
        idle_watch_ = IdleWatch(config().limits.client_idle_timeout);
        for (const auto& [id, frontend] : frontends_) frontend->watch_idleness();
    }
    class_sessions();
    // Whoever may run now is let in at the end of this turn.
    loop_.again();
    return changes;
}

// By what the sessions tell their workloads apart: the same for all of them.
void Server::class_sessions() {
    awake_sessions_.class_by(!config_.has_choice()     ? ClassedBy::login
                             : config_.looks_at_text() ? ClassedBy::texts
                                                       : ClassedBy::names);
}

// One that was removed keeps its budget: it is what its waiters were promised.
void Server::set_lanes() {
    const std::vector<config::Workload>& workloads = config().workloads;
    for (std::size_t i = 0; i < workloads.size(); ++i) {
        const config::Workload& workload = workloads[i];
        if (i == gate_.lane_count()) {
            // Who waits in that of housekeeping lacks a backend rather than a budget.
            const bool house = i == housekeeping();
            gate_.add_lane(
                workload.name, lane_budget(workload),
                {.expiry = house ? ShedReason::pool_timeout : ShedReason::queue_timeout});
        }
        const LaneId lane{static_cast<std::uint16_t>(i)};
        gate_.set_budget(lane, lane_budget(workload));
        gate_.set_mode(lane, lane_mode(workload.mode));
        gate_.set_pacing(lane, workload.pace_retries);
    }
    times_.resize(workloads.size());
    overloads_.set_workload_count(workloads.size());
}

std::vector<PoolWorkload> Server::pool_workloads() const {
    std::vector<PoolWorkload> result;
    for (std::size_t i = 0; i < config().workloads.size(); ++i) {
        const config::Workload& workload = config().workloads[i];
        result.push_back({.concurrency = static_cast<std::uint32_t>(workload.concurrency),
                          .pinned_max = static_cast<std::uint32_t>(workload.max_pinned),
                          .is_open = config_.is_listed(i),
                          .is_housekeeping = i == housekeeping()});
    }
    return result;
}

}  // namespace pgb

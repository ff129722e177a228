// What the server tells people and clients about its state: refusal facts and snapshots.

#include <algorithm>

#include "proxy/app/server.h"
#include "proxy/app/version.h"

namespace pgb {

double Server::jitter() {
    // xorshift64*: good enough to spread retries, and not worth a system call each.
    random_state_ ^= random_state_ >> 12;
    random_state_ ^= random_state_ << 25;
    random_state_ ^= random_state_ >> 27;
    const std::uint64_t bits = random_state_ * 0x2545F4914F6CDD1DULL;
    return 0.75 + 0.5 * static_cast<double>(bits >> 11) / 9007199254740992.0;
}

ShedFacts Server::shed_facts(std::size_t workload, ShedReason reason, Duration waited) {
    const LaneId lane{static_cast<std::uint16_t>(workload)};
    const config::Workload& rules = config_.workloads[workload];
    const LaneStats& stats = gate_.stats(lane);
    note_overload(workload, reason);
    const double wait = static_cast<double>(gate_.expected_wait(lane).count()) * jitter();
    const Duration floor = std::chrono::milliseconds(1);
    const Duration cap = std::max(rules.retry_after_cap, floor);
    return {.reason = reason,
            .workload = rules.name,
            .sqlstate = rules.sqlstate,
            .retry_after = std::clamp(Duration(static_cast<Duration::rep>(wait)), floor, cap),
            .waited = waited,
            .running = stats.running,
            .limit = gate_.budget(lane).concurrency,
            .waiting = stats.waiting,
            .queue = gate_.budget(lane).queue,
            .cause = {}};
}

Readiness Server::readiness() const {
    if (draining_) return Readiness::draining;
    if (!doors_open_) return Readiness::starting;
    const bool down = std::any_of(databases_.begin(), databases_.end(), [](const auto& database) {
        return !database->pool().reachable();
    });
    return down ? Readiness::backend_down : Readiness::ready;
}

WorkloadSnapshot Server::workload_snapshot(std::size_t workload) const {
    const LaneId lane{static_cast<std::uint16_t>(workload)};
    const auto index = static_cast<WorkloadIndex>(workload);
    const LaneStats& stats = gate_.stats(lane);
    WorkloadSnapshot snapshot{.name = std::string(gate_.name(lane)),
                              .concurrency = gate_.budget(lane).concurrency,
                              .queue = gate_.budget(lane).queue,
                              .running = stats.running,
                              .waiting = stats.waiting,
                              .peak_running = stats.peak_running,
                              .peak_waiting = stats.peak_waiting,
                              .admitted = stats.admitted,
                              .rejected = {},
                              .cancelled_while_queued = stats.cancelled_while_queued,
                              .left_while_queued = stats.left_while_queued,
                              .orphaned = 0,
                              .pinned = 0,
                              .sampled = {},
                              .times = times_[workload]};
    for (const ShedReason reason : kShedReasons) {
        snapshot.rejected.push_back({to_word(reason), stats.shed(reason)});
    }
    for (const auto& database : databases_) {
        snapshot.orphaned += database->orphaned(index);
        snapshot.pinned += database->pool().workload(index).pins;
        if (database->sampler() == nullptr) continue;
        snapshot.sampled += database->sampler()->sampled(index);
    }
    return snapshot;
}

Snapshot Server::make_snapshot() const {
    Totals totals = totals_;
    totals.statements_prepared = statements_.prepared_count();
    totals.statements_evicted = statements_.evicted_count();
    Snapshot snapshot{
        .version = kVersion,
        .readiness = readiness(),
        .clients = static_cast<std::uint32_t>(frontends_.size() - logging_in_.size()),
        .startup_sessions = static_cast<std::uint32_t>(logging_in_.size()),
        .uptime_seconds = std::chrono::duration<double>(loop_.now() - started_at_).count(),
        .totals = totals,
        .workloads = {},
        .databases = {}};
    for (std::size_t i = 0; i < times_.size(); ++i) {
        snapshot.workloads.push_back(workload_snapshot(i));
    }
    for (const auto& database : databases_) {
        const Pool& pool = database->pool();
        DatabaseSnapshot view{.name = database->entry().name,
                              .pool_size = static_cast<std::uint32_t>(database->entry().pool_size),
                              .waiting = static_cast<std::uint32_t>(pool.waiting_count()),
                              .backends = {},
                              .connects = pool.totals().connects,
                              .connect_failures = pool.totals().connect_failures,
                              .swaps = pool.totals().swaps,
                              .reachable = pool.reachable(),
                              .sampler = {}};
        for (std::size_t state = 0; state < kBackendStateCount; ++state) {
            view.backends.push_back(
                {kBackendStateWords[state], pool.counts().of(static_cast<BackendState>(state))});
        }
        if (const LockSampler* sampler = database->sampler()) {
            view.sampler = SamplerHealth{sampler->is_working(), sampler->failures()};
        }
        snapshot.databases.push_back(std::move(view));
    }
    return snapshot;
}

}  // namespace pgb

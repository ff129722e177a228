// What the server tells people and clients about its state: refusal facts and snapshots.

#include <algorithm>

#include "proxy/app/server.h"
#include "proxy/app/version.h"

namespace pgb {

namespace {
double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
}  // namespace

double Server::random_fraction() {
    // xorshift64*: good enough to spread retries, and not worth a system call each.
    random_state_ ^= random_state_ >> 12;
    random_state_ ^= random_state_ << 25;
    random_state_ ^= random_state_ >> 27;
    const std::uint64_t bits = random_state_ * 0x2545F4914F6CDD1DULL;
    return static_cast<double>(bits >> 11) / 9007199254740992.0;
}

// Without a slot the gate knows when there may be one. Otherwise the lane may be empty, and what is
// lacking is known by whoever refused; to come earlier than that is of no use.
Duration Server::retry_after(Waiter& refused, std::size_t workload, ShedReason reason,
                             Duration not_before) {
    using std::chrono::milliseconds;
    const LaneId lane{static_cast<std::uint16_t>(workload)};
    const Duration cap =
        std::max<Duration>(config().workloads[workload].retry_after_cap, milliseconds(1));
    switch (reason) {
        case ShedReason::queue_full:
        case ShedReason::queue_timeout:
        case ShedReason::deadline:
            return gate_.promise_return(lane, refused, loop_.now(), cap, random_fraction());
        case ShedReason::pool_timeout:
        case ShedReason::draining:
        case ShedReason::backend_down:
        case ShedReason::backend_lost:
        case ShedReason::pin_limit: break;
    }
    const Duration earliest =
        std::max(gate_.expected_wait(lane, loop_.now()), std::min(not_before, cap));
    const auto later = static_cast<double>(earliest.count()) * (1 + 0.5 * random_fraction());
    const Duration after = std::clamp<Duration>(
        std::chrono::ceil<milliseconds>(Duration(static_cast<Duration::rep>(later))),
        milliseconds(1), cap);
    gate_.note_promise(lane, refused, loop_.now(), after);
    return after;
}

ShedFacts Server::shed_facts(Waiter& refused, std::size_t workload, ShedReason reason,
                             Duration waited, Duration not_before) {
    const LaneId lane{static_cast<std::uint16_t>(workload)};
    const config::Workload& rules = config().workloads[workload];
    const LaneStats& stats = gate_.stats(lane);
    note_overload(workload, reason);
    return {.reason = reason,
            .workload = rules.name,
            .sqlstate = rules.sqlstate,
            .retry_after = retry_after(refused, workload, reason, not_before),
            .waited = waited,
            .running = stats.running,
            .limit = limit_in_force(lane),
            .waiting = stats.waiting,
            .queue = gate_.budget(lane).queue,
            .cause = {}};
}

std::uint32_t Server::limit_in_force(LaneId lane) const {
    if (gate_.rules(lane).mode == LaneMode::enforce) return gate_.budget(lane).concurrency;
    return static_cast<std::uint32_t>(config().limits.max_clients);
}

Readiness Server::readiness() const {
    if (stage_ >= Stage::leaving) return Readiness::draining;
    if (stage_ == Stage::starting) return Readiness::starting;
    // Who can still be served must not lose its instance for the sake of the others. Of an entry that
    // nobody has used nothing is known.
    bool any_down = false;
    for (const auto& database : databases_) {
        const PoolTotals& totals = database->pool().totals();
        const bool is_used = totals.connects + totals.connect_failures > 0;
        if (is_used && database->pool().reachable()) return Readiness::ready;
        any_down = any_down || !database->pool().reachable();
    }
    return any_down ? Readiness::backend_down : Readiness::ready;
}

WorkloadSnapshot Server::workload_snapshot(std::size_t workload) const {
    const LaneId lane{static_cast<std::uint16_t>(workload)};
    const auto index = static_cast<WorkloadIndex>(workload);
    const LaneStats& stats = gate_.stats(lane);
    const ReturnStats& returns = gate_.returns(lane);
    static constexpr LaneStats kNoShadow;
    const LaneStats* const in_shadow = gate_.shadow(lane);
    const LaneStats& shadow = in_shadow != nullptr ? *in_shadow : kNoShadow;
    WorkloadSnapshot snapshot{.name = std::string(gate_.name(lane)),
                              .listed = config_.is_listed(workload),
                              .concurrency = gate_.budget(lane).concurrency,
                              .queue = gate_.budget(lane).queue,
                              .running = stats.running,
                              .waiting = stats.waiting,
                              .peak_running = stats.peak_running,
                              .peak_waiting = stats.peak_waiting,
                              .modes = {},
                              .arrived = stats.arrived,
                              .admitted = stats.admitted,
                              .rejected = {},
                              .rejected_holders = {},
                              .cancelled_while_queued = stats.cancelled_while_queued,
                              .left_while_queued = stats.left_while_queued,
                              .parked = returns.parked,
                              .peak_parked = returns.peak_parked,
                              .parkings = returns.parkings,
                              .unparked = returns.unparked,
                              .cancelled_while_parked = returns.cancelled_while_parked,
                              .left_while_parked = returns.left_while_parked,
                              .retries = returns.retries,
                              .early_retries = returns.early_retries,
                              .shadow_running = shadow.running,
                              .shadow_waiting = shadow.waiting,
                              .would_reject = {},
                              .orphaned = 0,
                              .pinned = 0,
                              .overload_age = {},
                              .sampled = {},
                              .times = times_[workload]};
    const Duration calm = loop_.now() - overloads_.last_refusal(workload);
    if (!overloads_.last_refusal(workload).is_never() && calm < OverloadWatch::kQuiet) {
        snapshot.overload_age = seconds(calm);
    }
    for (const ShedReason reason : kShedReasons) {
        snapshot.rejected.push_back({to_word(reason), stats.shed(reason)});
        snapshot.rejected_holders.push_back(
            {to_word(reason), stats.shed_holders[index_of(reason)]});
        snapshot.would_reject.push_back({to_word(reason), gate_.would_shed(lane, reason)});
    }
    for (const LaneMode mode : kLaneModes) {
        snapshot.modes.push_back({to_word(mode), gate_.rules(lane).mode == mode ? 1U : 0U});
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
    Snapshot snapshot{.version = kVersion,
                      .readiness = readiness(),
                      .clients = static_cast<std::uint32_t>(frontends_.size() - logging_in_.size()),
                      .startup_sessions = static_cast<std::uint32_t>(logging_in_.size()),
                      .uptime_seconds = seconds(loop_.now() - started_at_),
                      .totals = totals,
                      .reloads = reload_figures_,
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
                              .outage = {},
                              .sampler = {}};
        if (!pool.reachable()) {
            view.outage = DatabaseOutage{seconds(loop_.now() - pool.unreachable_since()),
                                         pool.last_trouble().message};
        }
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

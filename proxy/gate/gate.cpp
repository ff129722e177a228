#include "proxy/gate/gate.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pgb {

Gate::~Gate() {
    for (const auto& lane : lanes_) PGB_CHECK(lane->stats.running == 0);
}

LaneId Gate::add_lane(std::string name, LaneBudget budget) {
    PGB_CHECK(lanes_.size() <= std::numeric_limits<std::uint16_t>::max());
    const auto id = static_cast<LaneId>(lanes_.size());
    lanes_.push_back(std::make_unique<Lane>(id, std::move(name), budget));
    return id;
}

Verdict Gate::judge_after_waiters(Lane& lane, Waiter& newcomer, Instant now,
                                  std::vector<Settled>& out) {
    grant_waiting(lane, now, out);
    if (has_permit(lane)) return admit(lane, now);
    now_ = now;
    if (!has_place(lane)) return shed(lane, ShedReason::queue_full);
    return queue_or_shed(lane, newcomer, now);
}

Verdict Gate::queue_or_shed(Lane& lane, Waiter& newcomer, Instant now) {
    // A place is free, so this is no full queue: the wait itself has no time.
    if (lane.budget.queue_wait <= Duration::zero()) return shed(lane, ShedReason::queue_timeout);
    // Heads of queues stand for their lanes in next_deadline() and shed_expired().
    PGB_CHECK(lane.queue.empty() || lane.queue.back().arrived() <= now);
    newcomer.lane_ = &lane;
    newcomer.arrived_ = now;
    lane.queue.push_back(newcomer);
    LaneStats& stats = lane.stats;
    if (++stats.waiting > stats.peak_waiting) stats.peak_waiting = stats.waiting;
    return {Arrival::queued, ShedReason::queue_full, Permit()};
}

void Gate::grant_waiting(Lane& lane, Instant now, std::vector<Settled>& out) {
    while (!lane.queue.empty() && has_permit(lane)) {
        Waiter& oldest = lane.queue.pop_front();
        --lane.stats.waiting;
        ++lane.stats.admitted_after_wait;
        out.emplace_back(oldest, grant(lane, now));
    }
}

void Gate::shed_oldest(Lane& lane, ShedReason reason, std::vector<Settled>& out) {
    Waiter& oldest = lane.queue.pop_front();
    --lane.stats.waiting;
    ++lane.stats.shed_arrivals[index_of(reason)];
    out.emplace_back(oldest, reason);
}

void Gate::shed_expired(Lane& lane, Instant now, std::vector<Settled>& out) {
    while (!lane.queue.empty() && lane.queue.front().deadline() <= now) {
        shed_oldest(lane, ShedReason::queue_timeout, out);
    }
}

void Gate::cancel(Waiter& waiter, Leave why) {
    if (!waiter.waiting()) return;
    Lane& lane = *waiter.lane_;
    lane.queue.remove(waiter);
    --lane.stats.waiting;
    switch (why) {
        case Leave::cancelled: ++lane.stats.cancelled_while_queued; break;
        case Leave::left: ++lane.stats.left_while_queued; break;
        case Leave::drained: ++lane.stats.shed_arrivals[index_of(ShedReason::draining)]; break;
    }
}

void Gate::dispatch(Instant now, std::vector<Settled>& out) {
    now_ = now;
    for (const auto& lane : lanes_) {
        lane->turnover.fold(now);
        if (lane->queue.empty()) continue;
        grant_waiting(*lane, now, out);
        shed_expired(*lane, now, out);
    }
}

void Gate::shed_all_waiting(ShedReason reason, std::vector<Settled>& out) {
    for (const auto& lane : lanes_) {
        while (!lane->queue.empty()) shed_oldest(*lane, reason, out);
    }
}

void Gate::count_shed(LaneId id, ShedReason reason, ShedStage stage) {
    LaneStats& stats = at(id).stats;
    switch (stage) {
        case ShedStage::on_arrival:
            ++stats.arrived;
            ++stats.shed_arrivals[index_of(reason)];
            break;
        case ShedStage::after_grant: ++stats.shed_holders[index_of(reason)]; break;
    }
}

Instant Gate::next_deadline() const {
    Instant earliest = Instant::never();
    for (const auto& lane : lanes_) {
        if (!lane->queue.empty()) earliest = std::min(earliest, lane->queue.front().deadline());
    }
    return earliest;
}

Duration Gate::expected_wait(LaneId id) const {
    constexpr Duration kShortest = std::chrono::milliseconds(1);
    const Lane& lane = at(id);
    const LaneStats& stats = lane.stats;
    const std::uint64_t ahead = std::uint64_t{stats.running} + stats.waiting + 1;
    if (ahead <= lane.budget.concurrency) return kShortest;
    const std::uint64_t releases = ahead - lane.budget.concurrency;
    return std::max(kShortest, lane.turnover.expected(releases, stats.running, now_));
}

}  // namespace pgb

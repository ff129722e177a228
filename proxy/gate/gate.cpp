#include "proxy/gate/gate.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pgb {

Gate::~Gate() {
    for (const auto& lane : lanes_) PGB_CHECK(lane->stats.running == 0);
}

LaneId Gate::add_lane(std::string name, LaneBudget budget, LaneRules rules) {
    PGB_CHECK(lanes_.size() <= std::numeric_limits<std::uint16_t>::max());
    const auto id = static_cast<LaneId>(lanes_.size());
    lanes_.push_back(std::make_unique<Lane>(id, std::move(name), budget));
    lanes_.back()->rules.expiry = rules.expiry;
    set_pacing(id, rules.pace_retries);
    set_mode(id, rules.mode);
    return id;
}

void Gate::set_budget(LaneId id, LaneBudget budget) {
    Lane& lane = at(id);
    lane.budget = budget;
    set_limits(lane);
    if (lane.shadow != nullptr) lane.shadow->set_budget(budget);
}

void Gate::set_mode(LaneId id, LaneMode mode) {
    Lane& lane = at(id);
    if (mode == lane.rules.mode) return;
    lane.rules.mode = mode;
    set_limits(lane);
    if (mode != LaneMode::shadow) return;
    if (lane.shadow == nullptr) lane.shadow = std::make_unique<ShadowLane>(lane.budget);
    lane.shadow->restart(lane.budget);
}

void Gate::set_limits(Lane& lane) {
    constexpr auto kNoEnd = std::numeric_limits<std::uint32_t>::max();
    switch (lane.rules.mode) {
        case LaneMode::enforce:
            lane.limit = lane.budget.concurrency;
            lane.places = lane.budget.queue;
            break;
        case LaneMode::shadow:
            // No permit below it, and never full: every arrival goes to judge_without_permit().
            lane.limit = 0;
            lane.places = kNoEnd;
            break;
        case LaneMode::off:
            lane.limit = kNoEnd;
            lane.places = kNoEnd;
            break;
    }
}

Verdict Gate::judge_after_waiters(Lane& lane, Waiter& newcomer, Instant now,
                                  std::vector<Settled>& out) {
    grant_waiting(lane, now, out);
    if (has_permit(lane)) return admit(lane, now);
    if (!has_place(lane)) return shed(lane, ShedReason::queue_full);
    return queue_or_shed(lane, newcomer, now);
}

Verdict Gate::judge_without_permit(Lane& lane, Waiter& newcomer, Instant now,
                                   std::vector<Settled>& out) {
    if (lane.rules.mode == LaneMode::shadow) return admit_in_shadow(lane, newcomer.due_, now, out);
    shed_past_deadline(lane, now, out);
    if (!has_place(lane)) return shed(lane, ShedReason::queue_full);
    return queue_or_shed(lane, newcomer, now);
}

// Whatever the mode: it is its client that has no use for it any more.
Verdict Gate::shed_overdue(Lane& lane, Instant now) {
    if (lane.rules.mode == LaneMode::shadow) lane.shadow->arrive(now, now);
    return shed(lane, ShedReason::deadline);
}

Verdict Gate::queue_or_shed(Lane& lane, Waiter& newcomer, Instant now) {
    // A place is free, so this is no full queue: the wait itself has no time.
    if (lane.budget.queue_wait <= Duration::zero()) return shed(lane, lane.rules.expiry);
    const bool has_deadline = !newcomer.due_.is_never();
    if (has_deadline && expected_wait(lane, now) > newcomer.due_ - now) {
        return shed(lane, ShedReason::deadline);
    }
    // Heads of queues stand for their lanes in next_deadline() and shed_expired().
    PGB_CHECK(lane.queue.empty() || lane.queue.back().arrived() <= now);
    newcomer.lane_ = &lane;
    newcomer.arrived_ = now;
    lane.queue.push_back(newcomer);
    if (has_deadline) lane.deadlines.push(newcomer, newcomer.due_);
    LaneStats& stats = lane.stats;
    if (++stats.waiting > stats.peak_waiting) stats.peak_waiting = stats.waiting;
    return {Arrival::queued, ShedReason::queue_full, Permit()};
}

Verdict Gate::admit_in_shadow(Lane& lane, Instant due, Instant now, std::vector<Settled>& out) {
    // Who has waited since before the mode was changed comes first.
    grant_waiting(lane, now, out);
    Permit permit = grant(lane, now);
    permit.shadow_ = lane.shadow->arrive(now, due);
    return {Arrival::admitted, ShedReason::queue_full, std::move(permit)};
}

void Gate::grant_waiting(Lane& lane, Instant now, std::vector<Settled>& out) {
    shed_past_deadline(lane, now, out);
    const bool everybody = lane.rules.mode != LaneMode::enforce;
    while (!lane.queue.empty() && (everybody || has_permit(lane))) {
        Waiter& oldest = take_oldest(lane);
        ++lane.stats.admitted_after_wait;
        out.emplace_back(oldest, grant(lane, now));
    }
}

Waiter& Gate::take_oldest(Lane& lane) {
    Waiter& oldest = lane.queue.pop_front();
    --lane.stats.waiting;
    if (!oldest.due_.is_never()) lane.deadlines.remove(oldest);
    return oldest;
}

void Gate::shed_past_deadline(Lane& lane, Instant now, std::vector<Settled>& out) {
    while (lane.deadlines.first_due() <= now) {
        Waiter& late = lane.deadlines.pop();
        lane.queue.remove(late);
        --lane.stats.waiting;
        ++lane.stats.shed_arrivals[index_of(ShedReason::deadline)];
        out.emplace_back(late, ShedReason::deadline);
    }
}

void Gate::shed_oldest(Lane& lane, ShedReason reason, std::vector<Settled>& out) {
    Waiter& oldest = take_oldest(lane);
    ++lane.stats.shed_arrivals[index_of(reason)];
    out.emplace_back(oldest, reason);
}

void Gate::shed_expired(Lane& lane, Instant now, std::vector<Settled>& out) {
    while (!lane.queue.empty() && lane.queue.front().arrived() + lane.budget.queue_wait <= now) {
        shed_oldest(lane, lane.rules.expiry, out);
    }
}

void Gate::cancel(Waiter& waiter, Leave why) {
    if (waiter.parked()) return cancel_parked(waiter, why);
    if (!waiter.waiting()) return;
    Lane& lane = *waiter.lane_;
    lane.queue.remove(waiter);
    --lane.stats.waiting;
    if (!waiter.due_.is_never()) lane.deadlines.remove(waiter);
    switch (why) {
        case Leave::cancelled: ++lane.stats.cancelled_while_queued; break;
        case Leave::left: ++lane.stats.left_while_queued; break;
        case Leave::drained: ++lane.stats.shed_arrivals[index_of(ShedReason::draining)]; break;
    }
}

void Gate::dispatch(Instant now, std::vector<Settled>& out) {
    for (const auto& lane : lanes_) {
        lane->turnover.fold(now);
        if (lane->rules.mode == LaneMode::shadow) lane->shadow->dispatch(now);
        if (!lane->queue.empty()) {
            grant_waiting(*lane, now, out);
            shed_expired(*lane, now, out);
        }
        if (!lane->parked.empty()) unpark(*lane, now, out);
    }
}

void Gate::shed_all_waiting(ShedReason reason, std::vector<Settled>& out) {
    for (const auto& lane : lanes_) {
        while (!lane->queue.empty()) shed_oldest(*lane, reason, out);
        while (!lane->parked.empty()) shed_parked(*lane, reason, out);
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
        if (!lane->queue.empty()) {
            earliest = std::min(earliest, lane->queue.front().deadline());
        }
        earliest = std::min({earliest, lane->deadlines.first_due(), lane->parked.first_due()});
        if (lane->rules.mode == LaneMode::shadow) {
            earliest = std::min(earliest, lane->shadow->next_deadline());
        }
    }
    return earliest;
}

Duration Gate::expected_wait(const Lane& lane, Instant now) {
    if (lane.rules.mode != LaneMode::enforce) return kShortestWait;
    return lane.turnover.expected_wait(lane.stats, lane.budget.concurrency, now);
}

}  // namespace pgb

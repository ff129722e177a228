// Who was refused and comes back: what it is told, and where it is held if it comes too early.

#include <algorithm>
#include <utility>

#include "proxy/gate/gate.h"

namespace pgb {

namespace {

using Milliseconds = std::chrono::milliseconds;

// Of the slots that will be free, one in this many is promised: the others are for those who come
// for the first time and for whoever has just been served. So about two of three who come back get
// in, and who does not hears of a later time.
constexpr int kSlotsForEachPromise = 2;
// Without a queue nothing bridges the time between one's end and another's return, so that more must
// come or permits lie idle.
constexpr int kSlotsForEachWithoutQueue = 1;
// A promise is moved by up to a quarter of its length, so that clients that were refused together
// and count alike do not come back together.
constexpr double kShortestJitter = 0.75;
constexpr double kJitterWidth = 0.5;

Duration whole_milliseconds(Duration duration) {
    return std::max(Milliseconds(1), std::chrono::ceil<Milliseconds>(duration));
}

// Moved beyond the cap it is as much below it instead: at the cap itself all would be told the same.
Duration moved(Duration duration, Duration cap, double jitter) {
    const double factor = kShortestJitter + kJitterWidth * std::clamp(jitter, 0.0, 1.0);
    const Duration moved(
        static_cast<Duration::rep>(static_cast<double>(duration.count()) * factor));
    return moved <= cap ? moved : std::max(Duration::zero(), cap - (moved - cap));
}

}  // namespace

Duration Gate::promise_return(LaneId id, Waiter& refused, Instant now, Duration cap,
                              double jitter) {
    Lane& lane = at(id);
    const Duration longest = std::max<Duration>(cap, Milliseconds(1));
    const Promise& earlier = refused.promise_;
    if (earlier.lane == &lane && now < earlier.due) {
        return std::min(whole_milliseconds(earlier.due - now), longest);
    }
    const LaneStats& stats = lane.stats;
    const auto at_work = std::max(stats.running, 1U);
    // Whoever comes back must find a slot, and one from which it gets its permit in time.
    const Duration slot = lane.turnover.expected(1, at_work, now);
    const Duration permit = lane.turnover.expected(std::uint64_t{stats.waiting} + 1, at_work, now);
    const Duration first = std::max(slot, permit - lane.budget.queue_wait);
    const int slots = lane.budget.queue > 0 ? kSlotsForEachPromise : kSlotsForEachWithoutQueue;
    const Duration step = lane.turnover.mean_hold() * slots / at_work;
    const Duration in_line = lane.line.next(now, first, step, longest);
    const Duration told = std::min(whole_milliseconds(moved(in_line, longest, jitter)), longest);
    note_promise(id, refused, now, told);
    return told;
}

Verdict Gate::come_back(Lane& lane, Waiter& newcomer, Instant now, std::vector<Settled>& out) {
    PGB_CHECK(!newcomer.parked());
    const Promise promise = std::exchange(newcomer.promise_, {});
    if (promise.lane != &lane) return judge(lane, newcomer, now, out);
    if (promise.is_kept_at(now)) ++lane.returns.retries;
    if (now >= promise.due) return judge(lane, newcomer, now, out);
    ++lane.returns.early_retries;
    if (lane.rules.pace_retries && lane.rules.mode == LaneMode::enforce) {
        grant_waiting(lane, now, out);
        const bool may_wait = has_place(lane) && lane.budget.queue_wait > Duration::zero();
        if (!has_permit(lane) && !may_wait) return park(lane, newcomer, promise);
    }
    Verdict verdict = judge(lane, newcomer, now, out);
    if (verdict.arrival == Arrival::shed) newcomer.promise_ = promise;
    return verdict;
}

Verdict Gate::park(Lane& lane, Waiter& early, const Promise& promise) {
    early.lane_ = &lane;
    // Kept open meanwhile, so that another arrival would be noticed.
    early.promise_ = promise;
    lane.parked.push(early, std::min(promise.due, early.due_));
    ReturnStats& returns = lane.returns;
    ++returns.parkings;
    returns.peak_parked = std::max(returns.peak_parked, ++returns.parked);
    return {Arrival::parked, ShedReason::queue_full, Permit()};
}

void Gate::unpark(Lane& lane, Instant now, std::vector<Settled>& out) {
    const bool everybody = lane.rules.mode != LaneMode::enforce || !lane.rules.pace_retries;
    while (!lane.parked.empty() && (everybody || lane.parked.first_due() <= now)) {
        Waiter& due = lane.parked.pop();
        const Promise promise = due.promise_;
        end_parking(lane, due);
        ++lane.returns.unparked;
        due.arrived_ = now;
        Verdict verdict = judge(lane, due, now, out);
        // Its own deadline came before the time that it was told.
        if (due.due_ <= now && now < promise.due) due.promise_ = promise;
        switch (verdict.arrival) {
            case Arrival::admitted: out.emplace_back(due, std::move(verdict.permit)); break;
            case Arrival::shed: out.emplace_back(due, verdict.reason); break;
            case Arrival::queued:
            case Arrival::parked: break;
        }
    }
}

void Gate::end_parking(Lane& lane, Waiter& parked) {
    parked.promise_ = {};
    --lane.returns.parked;
}

// It arrives, and is refused.
void Gate::count_parked_shed(Lane& lane, ShedReason reason) {
    ++lane.returns.unparked;
    ++lane.stats.arrived;
    ++lane.stats.shed_arrivals[index_of(reason)];
}

void Gate::cancel_parked(Waiter& waiter, Leave why) {
    Lane& lane = *waiter.lane_;
    lane.parked.remove(waiter);
    end_parking(lane, waiter);
    switch (why) {
        case Leave::cancelled: ++lane.returns.cancelled_while_parked; break;
        case Leave::left: ++lane.returns.left_while_parked; break;
        case Leave::drained: count_parked_shed(lane, ShedReason::draining); break;
    }
}

void Gate::shed_parked(Lane& lane, ShedReason reason, std::vector<Settled>& out) {
    Waiter& first = lane.parked.pop();
    end_parking(lane, first);
    count_parked_shed(lane, reason);
    out.emplace_back(first, reason);
}

}  // namespace pgb

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proxy/base/check.h"
#include "proxy/base/instant.h"
#include "proxy/gate/lane.h"
#include "proxy/gate/permit.h"
#include "proxy/gate/shed_reason.h"

namespace pgb {

enum class Arrival : std::uint8_t {
    admitted,  ///< The verdict holds a permit.
    queued,    ///< The waiter has a place; an out-list will name it, or cancel() takes it out.
    parked,    ///< It came back early and waits without a place; as with queued.
    shed,      ///< Refused; the verdict's reason says why.
};

/// The answer to one arrival. `reason` means something only when shed, `permit` is held only when
/// admitted.
struct Verdict {
    Arrival arrival;
    ShedReason reason;
    Permit permit;
};

/// One waiter whose wait is over: granted (the permit is held) or shed for `reason`. The waiter is
/// out of the queue already and may arrive again. Dropping the element gives its permit back.
struct Settled {
    Settled(Waiter& who, Permit with)
        : waiter(&who), granted(true), reason(ShedReason::queue_full), permit(std::move(with)) {}
    Settled(Waiter& who, ShedReason why) : waiter(&who), granted(false), reason(why) {}

    Waiter* waiter;
    bool granted;
    ShedReason reason;
    Permit permit;
};

/// Why a waiter leaves the queue of its own accord.
enum class Leave : std::uint8_t {
    cancelled,  ///< By a CancelRequest.
    left,       ///< Its client went away.
    drained,    ///< Its session was told that the proxy ends; counted as shed `draining`.
};

/// What a refusal that the gate did not decide itself had reached.
enum class ShedStage : std::uint8_t {
    on_arrival,  ///< It never came to arrive(); counted as an arrival that was shed.
    after_grant,  ///< It held a permit (pool_timeout, backend_down …); it stays counted as admitted.
};

/// Decides which transactions may run, one lane per workload.
///
///      came back early and finds no slot? --yes, if paced--> PARKED --its time--> arrive, at
///                      arrive (grants free permits to the oldest waiters first)      dispatch
///                        |
///        own deadline passed? --yes--> SHED deadline
///                        | no
///      free permit and nobody waiting? --yes--> ADMITTED --release--> (unit returns)
///                        | no
///             free queue place? --no--> SHED queue_full
///                        | yes
///             may it wait at all? --no--> SHED queue_timeout
///                        | yes
///        expected wait beyond its own deadline? --yes--> SHED deadline
///                        | no
///                     WAITING --arrive, dispatch: permit free--> ADMITTED
///                        |  \---arrive, dispatch: past its own deadline--> SHED deadline
///                        |  \---dispatch: past its wait--------> SHED queue_timeout
///                        |  \---shed_all_waiting---------------> SHED (its reason)
///                        \------cancel-------------------------> gone
///
/// Invariants after every public call:
///   I1  running <= B, except after set_budget() lowered B: then running only falls.
///   I2  waiting <= Q, with the same exception.
///   I3  after dispatch(): waiting > 0 implies running >= B.
///   I4  a lane grants in arrival order.
///   I5  the books balance (lane_stats.h, returns.h).
/// In a lane whose mode is shadow or off everybody is admitted, whatever its budget: I1 to I3 do not
/// hold, and nobody waits or is parked after dispatch().
///
/// A wait ends at `arrived + queue_wait` exactly, by the budget in force: a reload that changes
/// queue_wait changes it for those who wait, too. So these ends are in order of arrival, whatever was
/// reloaded, and of each queue only the head needs a timer. At that very instant a grant goes before
/// the timeout. A waiter's own deadline may be anywhere in that order, and is kept in a heap beside
/// the queue; from that very instant on it is granted nothing.
///
/// `now` never goes back between calls. Does no I/O, reads no clock, calls nobody back, allocates
/// nothing after a lane was made (an out-list grows by its caller's capacity). Outlives its
/// waiters and permits.
class Gate {
public:
    Gate() = default;
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate();

    /// Makes a lane; at most 65,536 of them.
    LaneId add_lane(std::string name, LaneBudget budget, LaneRules rules = {});

    /// Live. What a raise makes free is granted by the next arrive() or dispatch(); lowering B or
    /// Q takes nothing away, it only stops grants and queueing until the counts fit.
    void set_budget(LaneId id, LaneBudget budget);

    /// Live. Leaving `enforce` admits all who wait at the next arrive() or dispatch(); entering it
    /// takes nothing away, as when B is lowered. Entering `shadow` starts its books anew: it knows
    /// only of those who arrive from then on. The first time it allocates.
    void set_mode(LaneId id, LaneMode mode);
    /// Live. Off lets all who are parked arrive at the next dispatch().
    void set_pacing(LaneId id, bool pace_retries) { at(id).rules.pace_retries = pace_retries; }

    /// Grants free permits of the lane to its oldest waiters (appended to `out`), then judges the
    /// newcomer, which must not be waiting. Waiters past their wait hold their place until
    /// dispatch(); those past their own deadline are shed before anybody gets anything.
    Verdict arrive(LaneId id, Waiter& newcomer, Instant now, std::vector<Settled>& out) {
        PGB_CHECK(!newcomer.waiting());
        Lane& lane = at(id);
        if (newcomer.promise_.is_open()) return come_back(lane, newcomer, now, out);
        return judge(lane, newcomer, now, out);
    }

    /// Leaves the queue, or where it is parked; nothing happens to one that does not wait, so that a
    /// cancel which crosses a grant is harmless: the permit is in the out-list, and its owner gives
    /// it back.
    void cancel(Waiter& waiter, Leave why);

    /// Once at the end of a turn: in every lane, sheds those past their own deadlines, the earliest
    /// first; then, the oldest first, grants free permits and sheds those past their wait; then
    /// judges those whose time of being parked is over.
    void dispatch(Instant now, std::vector<Settled>& out);

    /// Sheds everyone who waits or is parked, in every lane.
    void shed_all_waiting(ShedReason reason, std::vector<Settled>& out);

    /// Counts a refusal that was decided elsewhere, so that one book holds them all.
    void count_shed(LaneId id, ShedReason reason, ShedStage stage = ShedStage::after_grant);

    /// When dispatch() next has somebody to time out or to let go from where it is parked, or a
    /// shadow to follow; never() when there is nobody.
    [[nodiscard]] Instant next_deadline() const;

    /// How long a transaction that arrived now would wait for a permit, were the queue without end:
    /// from the recent turnover of permits, at least 1 ms. The caller caps it and adds jitter.
    [[nodiscard]] Duration expected_wait(LaneId id, Instant now) const {
        return expected_wait(at(id), now);
    }

    /// Tells a session that was just refused for want of a slot when to come back: in whole
    /// milliseconds, from 1 to `cap`, so spread over those who were refused that about as many come
    /// back as there will be slots (README.md). `jitter` is from 0 to 1. Who came early hears what is
    /// left of its earlier promise: to try again at once moves nobody's place in the line.
    Duration promise_return(LaneId id, Waiter& refused, Instant now, Duration cap, double jitter);
    /// The same for a refusal whose time is known from elsewhere, in whole milliseconds.
    void note_promise(LaneId id, Waiter& refused, Instant now, Duration after) {
        refused.promise_ = {&at(id), now, now + after};
    }

    /// Whether an arrival now would be admitted at once.
    [[nodiscard]] bool has_room(LaneId id) const {
        const Lane& lane = at(id);
        return lane.rules.mode != LaneMode::enforce || (has_permit(lane) && lane.queue.empty());
    }
    [[nodiscard]] std::size_t lane_count() const { return lanes_.size(); }
    [[nodiscard]] const LaneStats& stats(LaneId id) const { return at(id).stats; }
    [[nodiscard]] const LaneBudget& budget(LaneId id) const { return at(id).budget; }
    [[nodiscard]] LaneRules rules(LaneId id) const { return at(id).rules; }
    [[nodiscard]] const ReturnStats& returns(LaneId id) const { return at(id).returns; }
    /// The books of what a lane in shadow would have done; null if it is not in shadow.
    [[nodiscard]] const LaneStats* shadow(LaneId id) const {
        const Lane& lane = at(id);
        return lane.rules.mode == LaneMode::shadow ? &lane.shadow->stats() : nullptr;
    }
    /// Transactions that the lane let through in shadow, now and before, and would have shed.
    [[nodiscard]] std::uint64_t would_shed(LaneId id, ShedReason reason) const {
        const Lane& lane = at(id);
        return lane.shadow != nullptr ? lane.shadow->shed_ever(reason) : 0;
    }
    [[nodiscard]] std::string_view name(LaneId id) const { return at(id).name; }

private:
    [[nodiscard]] Lane& at(LaneId id) const {
        PGB_CHECK(index_of(id) < lanes_.size());
        return *lanes_[index_of(id)];
    }
    static void set_limits(Lane& lane);
    static bool has_permit(const Lane& lane) { return lane.stats.running < lane.limit; }
    static bool has_place(const Lane& lane) { return lane.stats.waiting < lane.places; }
    static Verdict judge(Lane& lane, Waiter& newcomer, Instant now, std::vector<Settled>& out) {
        ++lane.stats.arrived;
        if (newcomer.due_ <= now) return shed_overdue(lane, now);
        if (has_permit(lane)) {
            if (!lane.queue.empty()) return judge_after_waiters(lane, newcomer, now, out);
            return admit(lane, now);
        }
        // Nobody is to be shed first, who would leave a place: the usual refusal.
        if (!has_place(lane) && lane.deadlines.first_due() > now) {
            return shed(lane, ShedReason::queue_full);
        }
        return judge_without_permit(lane, newcomer, now, out);
    }
    static Permit grant(Lane& lane, Instant now) {
        LaneStats& stats = lane.stats;
        ++stats.admitted;
        if (++stats.running > stats.peak_running) stats.peak_running = stats.running;
        lane.turnover.on_grant(now);
        return {lane, now};
    }

    static Verdict admit(Lane& lane, Instant now) {
        return {Arrival::admitted, ShedReason::queue_full, grant(lane, now)};
    }
    static Verdict shed(Lane& lane, ShedReason reason) {
        ++lane.stats.shed_arrivals[index_of(reason)];
        return {Arrival::shed, reason, Permit()};
    }

    // The rarer ends of arrive(), out of line and called last, so that the usual admission saves no
    // register.
    static Verdict judge_after_waiters(Lane& lane, Waiter& newcomer, Instant now,
                                       std::vector<Settled>& out);
    static Verdict judge_without_permit(Lane& lane, Waiter& newcomer, Instant now,
                                        std::vector<Settled>& out);
    static Verdict shed_overdue(Lane& lane, Instant now);
    static Verdict queue_or_shed(Lane& lane, Waiter& newcomer, Instant now);
    static Verdict admit_in_shadow(Lane& lane, Instant due, Instant now, std::vector<Settled>& out);
    // returning.cpp: who was refused and comes back
    static Verdict come_back(Lane& lane, Waiter& newcomer, Instant now, std::vector<Settled>& out);
    static Verdict park(Lane& lane, Waiter& early, const Promise& promise);
    static void unpark(Lane& lane, Instant now, std::vector<Settled>& out);
    static void cancel_parked(Waiter& waiter, Leave why);
    static void end_parking(Lane& lane, Waiter& parked);
    static void count_parked_shed(Lane& lane, ShedReason reason);
    static void shed_parked(Lane& lane, ShedReason reason, std::vector<Settled>& out);

    static void grant_waiting(Lane& lane, Instant now, std::vector<Settled>& out);
    static void shed_expired(Lane& lane, Instant now, std::vector<Settled>& out);
    static void shed_past_deadline(Lane& lane, Instant now, std::vector<Settled>& out);
    static void shed_oldest(Lane& lane, ShedReason reason, std::vector<Settled>& out);
    static Waiter& take_oldest(Lane& lane);
    static Duration expected_wait(const Lane& lane, Instant now);

    // Permits and waiters point at their lane, so lanes stay where they were made.
    std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace pgb

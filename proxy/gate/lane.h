#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/gate/due_heap.h"
#include "proxy/gate/lane_budget.h"
#include "proxy/gate/lane_mode.h"
#include "proxy/gate/lane_stats.h"
#include "proxy/gate/returns.h"
#include "proxy/gate/shadow_lane.h"
#include "proxy/gate/shed_reason.h"
#include "proxy/gate/turnover.h"

namespace pgb {

/// The number of a lane, in the order of add_lane(), from 0. Lanes are never taken away.
enum class LaneId : std::uint16_t {};

constexpr std::size_t index_of(LaneId lane) { return static_cast<std::size_t>(lane); }

/// How a lane uses its budget.
struct LaneRules {
    LaneMode mode = LaneMode::enforce;
    /// Whether a refused session that comes back early and finds no slot is parked until it may.
    bool pace_retries = false;
    /// What a wait that was in vain is called.
    ShedReason expiry = ShedReason::queue_timeout;

    bool operator==(const LaneRules&) const = default;
};

struct Lane;
struct WaiterTag;
struct ParkedTag;
struct OwnDeadlineTag;

/// A place in one lane's queue; base class or member of whoever wants to run. It never moves, and
/// must have left the queue (granted, shed or cancelled) before it dies: a check says so. Between
/// two arrivals it remembers what a refusal promised.
class Waiter : public ListHook<WaiterTag>,
               public DueHook<ParkedTag>,
               public DueHook<OwnDeadlineTag> {
public:
    /// From this instant on the transaction is of no use to its client; never(): there is no such.
    /// Holds for each arrival until it is told anew; not while it waits or is parked.
    void finish_by(Instant due) {
        PGB_CHECK(!waiting() && !parked());
        due_ = due;
    }
    [[nodiscard]] Instant due() const { return due_; }

    /// True from Arrival::queued until it was appended to an out-list or cancelled.
    [[nodiscard]] bool waiting() const { return is_linked(); }
    /// True from Arrival::parked until it was appended to an out-list, took a place in the queue, or
    /// was cancelled.
    [[nodiscard]] bool parked() const { return DueHook<ParkedTag>::is_due_some_day(); }
    /// When it last took a place, or its time of being parked was over. Kept after the wait is over,
    /// so that the wait can be recorded; one that was admitted at once never took a place.
    [[nodiscard]] Instant arrived() const { return arrived_; }
    /// When its wait ends, by the budget in force now or by its own deadline; never() when it does
    /// not wait.
    [[nodiscard]] Instant deadline() const;

private:
    friend class Gate;
    Lane* lane_ = nullptr;
    Instant arrived_;
    Instant due_ = Instant::never();
    Promise promise_;
};

/// The run-time side of a workload. Only Gate and Permit touch it.
///
/// The order of members is by use: what an admission and a release read and write fills the first
/// two cache lines, in whatever state the cache is after the kernel had the processor.
struct alignas(64) Lane {
    Lane(LaneId number, std::string lane_name, LaneBudget lane_budget)
        : limit(lane_budget.concurrency),
          places(lane_budget.queue),
          budget(lane_budget),
          id(number),
          name(std::move(lane_name)) {}

    /// An arrival is admitted at once while fewer are running: B, none in shadow (whose arrivals go
    /// another way), no end if off.
    std::uint32_t limit;
    /// A newcomer may wait while fewer wait: Q, no end where nobody is refused.
    std::uint32_t places;
    LaneRules rules;
    LaneBudget budget;
    Turnover turnover;
    LaneStats stats;
    IntrusiveList<Waiter, WaiterTag> queue;
    DueHeap<Waiter, OwnDeadlineTag> deadlines;  ///< those in `queue` that have one of their own
    DueHeap<Waiter, ParkedTag> parked;
    LaneId id;
    std::string name;
    ReturnLine line;
    ReturnStats returns;
    std::unique_ptr<ShadowLane> shadow;  ///< from the first time that the lane was in shadow
};

inline Instant Waiter::deadline() const {
    return waiting() ? std::min(arrived_ + lane_->budget.queue_wait, due_) : Instant::never();
}

}  // namespace pgb

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/gate/lane_stats.h"
#include "proxy/gate/turnover.h"

namespace pgb {

/// The number of a lane, in the order of add_lane(), from 0. Lanes are never taken away.
enum class LaneId : std::uint16_t {};

constexpr std::size_t index_of(LaneId lane) { return static_cast<std::size_t>(lane); }

/// What one lane may do at once.
struct LaneBudget {
    std::uint32_t concurrency = 1;  ///< B: permits out at once. 0 grants nothing.
    std::uint32_t queue = 0;        ///< Q: further transactions that may wait for a permit.
    Duration queue_wait{0};         ///< Longest wait for a permit; 0: never wait.

    bool operator==(const LaneBudget&) const = default;
};

struct Lane;
struct WaiterTag;

/// A place in one lane's queue; base class or member of whoever wants to run. It never moves, and
/// must have left the queue (granted, shed or cancelled) before it dies: a check says so.
class Waiter : public ListHook<WaiterTag> {
public:
    /// True from Arrival::queued until it was appended to an out-list or cancelled.
    [[nodiscard]] bool waiting() const { return is_linked(); }
    /// When it last took a place. Kept after the wait is over, so that the wait can be recorded; one
    /// that was admitted at once never took a place.
    [[nodiscard]] Instant arrived() const { return arrived_; }
    /// When its wait ends by the budget in force now; never() when it does not wait.
    [[nodiscard]] Instant deadline() const;

private:
    friend class Gate;
    Lane* lane_ = nullptr;
    Instant arrived_;
};

/// The run-time side of a workload. Only Gate and Permit touch it.
///
/// The order of members is by use: what an admission and a release read and write fills the first
/// two cache lines, in whatever state the cache is after the kernel had the processor.
struct alignas(64) Lane {
    Lane(LaneId number, std::string lane_name, LaneBudget lane_budget)
        : budget(lane_budget), id(number), name(std::move(lane_name)) {}

    LaneBudget budget;
    Turnover turnover;
    LaneStats stats;
    IntrusiveList<Waiter, WaiterTag> queue;
    LaneId id;
    std::string name;
};

inline Instant Waiter::deadline() const {
    return waiting() ? arrived_ + lane_->budget.queue_wait : Instant::never();
}

}  // namespace pgb

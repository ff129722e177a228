#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/pool/group.h"
#include "proxy/pool/pool_types.h"

namespace pgb {

/// The transactions that wait for a backend, and the order in which they are served.
///
/// Order of service: housekeeping; workloads below their share, then the others; among these the
/// smallest lent/B; then the oldest. All in whole numbers: a rounding error would let equals overtake each other.
class WaitingRoom {
public:
    WaitingRoom(std::uint32_t pool_size, const std::vector<PoolWorkload>& workloads);

    /// Other shares and limits; those that were there before keep their places in the vector.
    void set_workloads(std::uint32_t pool_size, const std::vector<PoolWorkload>& workloads);
    /// The same workloads in another P.
    void share_out(std::uint32_t pool_size);

    void add(PoolWaiter& waiter, Group& group, WorkloadIndex workload, Instant now);
    void remove(PoolWaiter& waiter);

    [[nodiscard]] bool empty() const { return arrivals_.empty() && urgent_.empty(); }
    [[nodiscard]] std::size_t size() const { return arrivals_.size() + urgent_.size(); }
    /// Those of housekeeping, or all the others, in order of arrival: each has a wait of its own.
    [[nodiscard]] IntrusiveList<PoolWaiter, ByArrival>& arrivals(bool housekeeping) {
        return housekeeping ? urgent_ : arrivals_;
    }
    [[nodiscard]] const IntrusiveList<PoolWaiter, ByArrival>& arrivals(bool housekeeping) const {
        return housekeeping ? urgent_ : arrivals_;
    }
    [[nodiscard]] bool is_housekeeping(WorkloadIndex workload) const {
        return housekeeping_ == workload;
    }
    /// Whether any workload is; there is at most one.
    [[nodiscard]] bool has_housekeeping() const { return housekeeping_.has_value(); }
    [[nodiscard]] std::uint32_t lent_to_housekeeping() const {
        return housekeeping_ ? at(*housekeeping_).counts.lent : 0;
    }
    [[nodiscard]] static Group& group_of(const PoolWaiter& waiter) { return *waiter.flow_->group; }

    /// The flow that goes first among those that `may_be_served(const Flow&)` allows; null if none.
    template <typename MayBeServed>
    [[nodiscard]] Flow* first(MayBeServed may_be_served) {
        Flow* best = nullptr;
        busy_.for_each([&](Flow& flow) {
            if (best != nullptr && !goes_before(flow, *best)) return;
            if (may_be_served(flow)) best = &flow;
        });
        return best;
    }
    /// `visit` may empty the flow that it is given.
    template <typename Visit>
    void for_each_flow(Visit visit) {
        busy_.for_each(visit);
    }
    /// Both have waiters.
    [[nodiscard]] bool goes_before(const Flow& one, const Flow& other) const;
    /// Whether the workload has less than it may use while others wait; always, if sum of B <= P.
    [[nodiscard]] bool below_share(WorkloadIndex workload) const {
        const Books& books = at(workload);
        return books.counts.lent < books.share;
    }

    void on_lent(WorkloadIndex workload) { ++at(workload).counts.lent; }
    void on_returned(WorkloadIndex workload) { --at(workload).counts.lent; }
    void on_pin(WorkloadIndex workload) { ++at(workload).counts.pins; }
    void on_unpin(WorkloadIndex workload) {
        PGB_CHECK(at(workload).counts.pins > 0);
        --at(workload).counts.pins;
    }
    [[nodiscard]] bool may_pin(WorkloadIndex workload) const {
        return at(workload).counts.pins < at(workload).limits.pinned_max;
    }
    [[nodiscard]] const PoolWorkloadCounts& counts(WorkloadIndex workload) const {
        return at(workload).counts;
    }

private:
    struct Books {
        PoolWorkload limits;
        std::uint32_t share = 0;
        PoolWorkloadCounts counts;
    };

    [[nodiscard]] Books& at(WorkloadIndex workload) {
        PGB_CHECK(workload < books_.size());
        return books_[workload];
    }
    [[nodiscard]] const Books& at(WorkloadIndex workload) const {
        PGB_CHECK(workload < books_.size());
        return books_[workload];
    }

    std::vector<Books> books_;
    IntrusiveList<Flow, BusyFlow> busy_;
    IntrusiveList<PoolWaiter, ByArrival> arrivals_;  // also the order in which waits end
    IntrusiveList<PoolWaiter, ByArrival> urgent_;    // the same, of housekeeping
    std::optional<WorkloadIndex> housekeeping_;
    std::uint64_t arrival_count_ = 0;
};

}  // namespace pgb

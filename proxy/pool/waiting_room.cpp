#include "proxy/pool/waiting_room.h"

#include <algorithm>
#include <limits>

namespace pgb {

WaitingRoom::WaitingRoom(std::uint32_t pool_size, const std::vector<PoolWorkload>& workloads) {
    set_workloads(pool_size, workloads);
}

void WaitingRoom::set_workloads(std::uint32_t pool_size,
                                const std::vector<PoolWorkload>& workloads) {
    PGB_CHECK(workloads.size() >= books_.size());
    books_.resize(workloads.size());
    for (std::size_t i = 0; i < workloads.size(); ++i) {
        PGB_CHECK(workloads[i].concurrency > 0);
        books_[i].limits = workloads[i];
    }
    share_out(pool_size);
}

void WaitingRoom::share_out(std::uint32_t pool_size) {
    std::uint64_t sum = 0;
    housekeeping_.reset();
    for (std::size_t i = 0; i < books_.size(); ++i) {
        const PoolWorkload& limits = books_[i].limits;
        if (limits.is_housekeeping) housekeeping_ = static_cast<WorkloadIndex>(i);
        sum += limits.is_open && !limits.is_housekeeping ? limits.concurrency : 0;
    }
    if (housekeeping_ && pool_size > 1) --pool_size;
    for (Books& books : books_) {
        std::uint64_t share = std::numeric_limits<std::uint32_t>::max();
        if (sum > pool_size && !books.limits.is_housekeeping) {
            share = std::max<std::uint64_t>(
                1, std::uint64_t{pool_size} * books.limits.concurrency / sum);
        }
        books.share = static_cast<std::uint32_t>(share);
    }
}

void WaitingRoom::add(PoolWaiter& waiter, Group& group, WorkloadIndex workload, Instant now) {
    Flow& flow = group.flow(workload);
    waiter.flow_ = &flow;
    waiter.asked_ = now;
    waiter.number_ = ++arrival_count_;
    if (flow.waiters.empty()) busy_.push_back(flow);
    flow.waiters.push_back(waiter);
    arrivals(is_housekeeping(workload)).push_back(waiter);
    ++group.waiting;
    ++at(workload).counts.waiting;
}

void WaitingRoom::remove(PoolWaiter& waiter) {
    Flow& flow = *waiter.flow_;
    flow.waiters.remove(waiter);
    arrivals(is_housekeeping(flow.workload)).remove(waiter);
    if (flow.waiters.empty()) busy_.remove(flow);
    --flow.group->waiting;
    --at(flow.workload).counts.waiting;
    waiter.flow_ = nullptr;
}

bool WaitingRoom::goes_before(const Flow& one, const Flow& other) const {
    if (one.workload != other.workload) {
        const bool urgent = is_housekeeping(one.workload);
        if (urgent != is_housekeeping(other.workload)) return urgent;
        const bool below = below_share(one.workload);
        if (below != below_share(other.workload)) return below;
        const Books& mine = at(one.workload);
        const Books& theirs = at(other.workload);
        // lent/B of one against the other's, multiplied out.
        const std::uint64_t left = std::uint64_t{mine.counts.lent} * theirs.limits.concurrency;
        const std::uint64_t right = std::uint64_t{theirs.counts.lent} * mine.limits.concurrency;
        if (left != right) return left < right;
    }
    return one.waiters.front().number_ < other.waiters.front().number_;
}

}  // namespace pgb

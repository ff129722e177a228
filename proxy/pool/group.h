#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/pool/backend_state.h"
#include "proxy/pool/pool_types.h"

namespace pgb {

struct Backend;
struct IdleInGroup;
struct BusyFlow;
struct WithLogins;
struct WithWishes;
struct UnusedGroup;

/// The waiters of one workload that want a backend of one group, oldest first. Made when the pair
/// first waits, kept while the group lives, listed by the waiting room while anyone is in it.
struct Flow : ListHook<BusyFlow> {
    Flow(Group& of_group, WorkloadIndex of_workload) : group(&of_group), workload(of_workload) {}

    Group* group;
    WorkloadIndex workload;
    IntrusiveList<PoolWaiter, InFlow> waiters;
};

/// What the pool knows of one group. Only the pool and its parts touch it.
struct Group : ListHook<WithLogins>, ListHook<WithWishes>, ListHook<UnusedGroup> {
    GroupId id{};
    std::string key;
    std::uint32_t sessions = 0;
    BackendCounts backends;
    std::uint32_t promised = 0;  ///< Places being cleared for this group by swaps.
    std::uint32_t waiting = 0;   ///< Transactions in its flows.
    std::uint32_t wishes = 0;    ///< Transactions refused this turn that could not wait.
    bool greeting_known = false;
    Instant refused_until;  ///< Until then a permanent failure is the answer without a new attempt.
    ConnectTrouble trouble;                    ///< The latest permanent one.
    IntrusiveList<Backend, IdleInGroup> idle;  ///< The most recently used first.
    IntrusiveList<PoolWaiter, InFlow> logins;  ///< Not in a flow: a login waits for no backend.
    std::vector<std::unique_ptr<Flow>> flows;

    /// Backends on their way: they will serve as many waiters.
    [[nodiscard]] std::uint32_t coming() const {
        return backends.of(BackendState::connecting) + promised;
    }
    /// Backends that may come to serve a waiter. A pinned one serves its session only.
    [[nodiscard]] std::uint32_t live() const {
        return backends.of(BackendState::idle) + backends.of(BackendState::lent) +
               backends.of(BackendState::connecting);
    }
    /// Finds or makes.
    Flow& flow(WorkloadIndex workload);
};

/// All groups by number and by key. Bounded: a group lives while it has a session or a backend.
class GroupTable {
public:
    GroupTable() = default;
    GroupTable(const GroupTable&) = delete;
    GroupTable& operator=(const GroupTable&) = delete;
    ~GroupTable();

    Group& find_or_make(std::string_view key);
    /// The group is unused; its number is free. Its memory is kept for the next group.
    void erase(Group& group);

    [[nodiscard]] Group& at(GroupId id) const {
        const auto index = static_cast<std::size_t>(id);
        PGB_CHECK(index < groups_.size());
        return *groups_[index];
    }
    [[nodiscard]] std::size_t size() const { return by_key_.size(); }

    IntrusiveList<Group, WithLogins> with_logins;  ///< In order of their first waiting login.
    IntrusiveList<Group, WithWishes> with_wishes;
    IntrusiveList<Group, UnusedGroup> unused;  ///< To be looked at again at the end of the turn.

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const {
            return std::hash<std::string_view>{}(key);
        }
    };

    std::vector<std::unique_ptr<Group>> groups_;  // by number; waiters and backends point at them
    std::vector<std::uint32_t> free_;
    std::unordered_map<std::string, Group*, Hash, std::equal_to<>> by_key_;
};

}  // namespace pgb

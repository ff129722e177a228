#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/pool/backend_state.h"
#include "proxy/pool/connect_pacing.h"
#include "proxy/pool/group.h"
#include "proxy/pool/pool_types.h"
#include "proxy/pool/roster.h"
#include "proxy/pool/waiting_room.h"

namespace pgb {

/// Decides which backend serves whom, for one entry of `databases`. Actions are appended to an
/// out-list and carried out by the driver after the call; every turn of the loop ends with tick().
///
/// A transaction asks and is lent an idle backend of its group at once when nobody waits. Otherwise
/// it queues, and tick() serves the queue in this order: workloads below their share first, among
/// them the smallest lent/B, within a workload the oldest. A waiter that can't be served at this
/// moment does not hold up those who can. When P is full, an idle backend of another group is
/// closed for a waiter (a swap).
///
/// Invariants after every public call:
///   I1  connecting + idle + lent + pinned + closing + orphaned <= P, except after set_limits()
///       lowered P: then their sum only falls.
///   I2  connects and swaps under way <= connecting_max, those of set_other_connects() counted as far
///       as the pool begins them; while unreachable none begins beside another.
///   I3  pins <= P - 1, and of each workload <= its pinned_max, with the same exception.
///   I4  every ask ends in exactly one lend, greet or refuse, or in forget_waiter.
///   I5  within one workload and group backends are lent in order of arrival.
/// And after tick(now):
///   I6  no transaction waits while a backend of its group is idle, but for the place set aside; none
///       is idle above P.
///   I7  no transaction has waited for pool_wait or longer, housekeeping for housekeeping_wait.
///   I8  next_deadline() > now.
///
/// A sum of B above P is shared out: a workload's share is max(1, P * B / sum of B), rounded down.
/// One that has its share goes after all others who can be served; so it grows beyond it only while
/// no other can use the backend.
///
/// With a workload for housekeeping one place is set aside: the others together have P - 1 backends
/// at most. The last one that no session keeps and that is no orphan is shared.
///
/// While paused, I6 is that none is idle.
///
/// `now` never goes back between calls. An id or group that is not in use, or a backend in a state
/// that does not allow the call, is a bug of the caller and aborts. No I/O, no clock, no callbacks;
/// after the first wait of each pair of workload and group, ask, lend and give_back allocate nothing
/// (out-lists keep their capacity). Outlives its waiters.
class Pool {
public:
    using Actions = std::vector<PoolAction>;

    /// At most 65,536 workloads; they are known by their place in the vector.
    Pool(const PoolSettings& settings, const std::vector<PoolWorkload>& workloads);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Live. A larger P is used by the next tick(); above a smaller one the idle are closed by the
    /// next tick(), the lent and pinned when they come back. All waits and ages are judged by the
    /// new settings, also of those that were there before; seed and backoff stay.
    void set_limits(const PoolSettings& settings);
    /// Live. As many as before or more, known by the same numbers; shares follow.
    void set_workloads(const std::vector<PoolWorkload>& workloads);

    /// Nobody is lent a backend and none is opened; those that come back and the idle are closed.
    /// Waits begin and end as always. A session that keeps its backend goes on with it.
    void pause() { is_paused_ = true; }
    void resume() { is_paused_ = false; }
    [[nodiscard]] bool is_paused() const { return is_paused_; }
    /// Paused, and no backend is left but orphans.
    [[nodiscard]] bool is_quiet() const {
        return is_paused_ && counts().all() == counts().of(BackendState::orphaned);
    }

    // --- Groups -------------------------------------------------------------------------------

    /// A session of this group exists. Equal keys give the same group; each join needs its leave.
    GroupId join(std::string_view key);
    /// The session has ended; it waits no longer and holds no backend. Without sessions and backends
    /// the group is forgotten at the end of the turn.
    void leave(GroupId group);
    /// A backend of the group has logged in since the group exists. The driver keeps the values.
    [[nodiscard]] bool greeting_known(GroupId group) const;

    // --- Waiters ------------------------------------------------------------------------------

    /// A transaction that has its permit wants a backend. Answered at once by a lend or a refusal,
    /// or it waits, at most pool_wait.
    void ask(PoolWaiter& waiter, GroupId group, WorkloadIndex workload, Instant now, Actions& out);
    /// A login wants to be greeted; waits without a limit of the pool's own. It never gets a backend.
    void ask_login(PoolWaiter& waiter, GroupId group, Instant now, Actions& out);
    /// Its session has left or was cancelled. Nothing happens to one that does not wait.
    void forget_waiter(PoolWaiter& waiter);

    // --- Logins that were proved by a login to PostgreSQL ---------------------------------------

    /// Connects under way that are not the pool's own count against connecting_max.
    void set_other_connects(std::uint32_t count) { other_connects_ = count; }
    /// A backend of the group was opened by somebody else: its logins can be greeted from now on. If
    /// there is a place for it, it is in state connecting and on_connected() must follow.
    [[nodiscard]] std::optional<BackendId> adopt(GroupId group);

    // --- Lent backends ------------------------------------------------------------------------

    /// lent -> idle. It owes nothing, its status is `I` and it is clean: the driver vouches for that.
    void give_back(BackendId id, Instant now);
    /// lent -> pinned, at the end of a transaction; its session holds a reserved pin or is a resident.
    void keep(BackendId id);
    /// pinned -> lent, for the session's next transaction.
    void take(BackendId id, WorkloadIndex workload);

    /// A pin is reserved before a statement that pins is sent, and dropped exactly once when the
    /// session has no such state left or its backend is lost.
    [[nodiscard]] bool can_pin(WorkloadIndex workload) const;
    void reserve_pin(WorkloadIndex workload);
    void drop_pin(WorkloadIndex workload);

    /// A session keeps the backend that it was lent for its whole life (`pooling: session`): it
    /// counts in P and not as a pin. Added before keep(), removed exactly once, like a pin.
    void add_resident() { ++residents_; }
    void remove_resident();

    // --- What the driver saw ------------------------------------------------------------------

    /// connecting -> idle. The next tick() lends it.
    void on_connected(BackendId id, Instant now);
    /// connecting -> (free). Refuses the group's logins. Permanent trouble refuses its transactions,
    /// too; other trouble refuses those that no other backend of the group could serve, except
    /// 53300 (too many connections), which is worth pool_wait.
    void on_connect_failed(BackendId id, ConnectTrouble trouble, Instant now, Actions& out);
    /// idle, lent or pinned -> closing: the driver closes it of its own accord.
    void on_closing(BackendId id);
    /// lent, pinned or closing -> orphaned.
    void on_orphaned(BackendId id);
    /// Any state but connecting -> (free): PostgreSQL no longer has it.
    void on_gone(BackendId id, Instant now);

    // --- Time ---------------------------------------------------------------------------------

    /// Once at the end of a turn: closes what is worn out, lends, connects, swaps, ends waits,
    /// forgets groups.
    void tick(Instant now, Actions& out);
    /// When tick() has something to do even if nothing happens; never() if there is no such time.
    [[nodiscard]] Instant next_deadline() const;

    // --- For people and tests -----------------------------------------------------------------

    /// Null when the backend has gone.
    [[nodiscard]] const Backend* find(BackendId id) const { return roster_.find(id); }
    [[nodiscard]] const BackendCounts& counts() const { return roster_.counts(); }
    [[nodiscard]] const PoolTotals& totals() const { return totals_; }
    [[nodiscard]] const PoolWorkloadCounts& workload(WorkloadIndex index) const {
        return waiting_.counts(index);
    }
    [[nodiscard]] PoolGroupCounts group_counts(GroupId group) const;
    [[nodiscard]] std::size_t waiting_count() const { return waiting_.size(); }
    [[nodiscard]] std::size_t login_waiting_count() const { return login_waiting_; }
    [[nodiscard]] std::size_t group_count() const { return groups_.size(); }
    /// Connects and swaps under way.
    [[nodiscard]] std::uint32_t opening_count() const {
        return counts().of(BackendState::connecting) + promised_;
    }
    /// False while the latest attempt failed for a reason that may pass and none succeeded since.
    [[nodiscard]] bool reachable() const { return pacing_.reachable(); }
    /// never() while it is reachable.
    [[nodiscard]] Instant unreachable_since() const { return pacing_.unreachable_since(); }
    /// When the next attempt may begin after one that failed; in the past when none has to wait.
    [[nodiscard]] Instant retry_at() const { return pacing_.retry_at(); }
    /// The latest temporary trouble; empty if there was none.
    [[nodiscard]] const ConnectTrouble& last_trouble() const { return pacing_.trouble(); }

private:
    // pool.cpp
    [[nodiscard]] bool may_be_lent(WorkloadIndex workload) const;
    [[nodiscard]] Duration wait_of(bool housekeeping) const {
        return housekeeping ? settings_.housekeeping_wait : settings_.pool_wait;
    }
    [[nodiscard]] bool is_hopeless(const Group& group, Instant now) const;
    void lend(PoolWaiter& waiter, Group& group, WorkloadIndex workload, Actions& out);
    void refuse(PoolWaiter& waiter, const Group& group, PoolRefusal why, Actions& out);
    void refuse_flow(Flow& flow, PoolRefusal why, Actions& out);
    void refuse_logins(Group& group, PoolRefusal why, Actions& out);
    void remove_login(PoolWaiter& waiter);
    void set_probe_group(Group* group);
    void end_promise(Backend& backend);
    [[nodiscard]] Instant end_of_life(const Backend& backend);
    /// More are idle than will be closed to get down to P.
    [[nodiscard]] bool has_idle_to_lend() const {
        return !is_above_size_ || roster_.excess() < counts().of(BackendState::idle);
    }
    void note_idle(Backend& backend, Instant now);
    void note_unused(Group& group);
    [[nodiscard]] bool is_unused(const Group& group) const;

    // pool_tick.cpp, in the order of a tick
    void greet_logins(Actions& out);
    void close_aged(Instant now, Actions& out);
    void close_excess(Actions& out);
    void close_idle(Actions& out);
    void open_for_logins(Instant now, Actions& out);
    void serve_transactions(Instant now, Actions& out);
    void serve(Flow& flow, Instant now, Actions& out);
    void open_for_wishes(Instant now, Actions& out);
    void probe(Instant now, Actions& out);
    void refuse_hopeless(Instant now, Actions& out);
    void refuse_expired(Instant now, Actions& out);
    void close_unused(Instant now, Actions& out);
    void forget_groups(Actions& out);
    void plan_swap(Instant now);

    [[nodiscard]] bool may_open(Instant now) const {
        return pacing_.may_begin(opening_count() + other_connects_, now);
    }
    [[nodiscard]] bool can_serve(const Flow& flow, bool may_open_now, Instant now) const;
    [[nodiscard]] bool may_swap_for(const Flow& flow, Instant now) const;
    [[nodiscard]] bool may_swap_for_login(Instant now) const;
    void open(Group& group, Actions& out);
    void close(Backend& backend, Actions& out);
    void swap_for(Group& group, Instant now, Actions& out);

    PoolSettings settings_;
    GroupTable groups_;
    Roster roster_;
    WaitingRoom waiting_;
    ConnectPacing pacing_;
    Jitter lifetime_jitter_;
    PoolTotals totals_;
    std::uint32_t pins_ = 0;
    std::uint32_t residents_ = 0;
    std::uint32_t promised_ = 0;  // swaps under way
    std::uint32_t other_connects_ = 0;
    std::size_t login_waiting_ = 0;
    bool is_paused_ = false;
    bool is_above_size_ = false;    // since P was lowered, until the last one above it has gone
    Group* probe_group_ = nullptr;  // failed last; kept until the server is reachable
    Instant earliest_age_ = Instant::never();   // not later than the end of any idle backend's life
    Instant swap_retry_at_ = Instant::never();  // when a swap that was put off becomes possible
    Instant warm_swap_from_;                    // no warm backend is taken from its group before
    Instant now_;                               // the latest the pool was told
};

}  // namespace pgb

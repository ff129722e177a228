#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/pool/backend_state.h"

namespace pgb {

/// One entry of `databases`, as far as the pool needs it.
struct PoolSettings {
    std::uint32_t size = 1;            ///< P: places. Every backend in any state takes one.
    Duration pool_wait{0};             ///< Longest wait of a transaction; 0: do not wait.
    Duration housekeeping_wait{0};     ///< The same of housekeeping.
    std::uint32_t connecting_max = 1;  ///< Backends that may be on their way at once.
    Duration idle_timeout{0};          ///< An idle backend is closed after this; 0: never.
    Duration lifetime_max{0};          ///< Closed when idle and older, +-10 %; 0: never.
    Duration backoff_first = std::chrono::milliseconds(100);  ///< After the first failure, +-25 %.
    Duration backoff_max = std::chrono::seconds(1);           ///< Doubles up to here, +-25 %.
    std::uint64_t jitter_seed = 0;                            ///< Equal seeds give equal jitter.
};

/// What the pool must know of one workload.
struct PoolWorkload {
    std::uint32_t concurrency = 1;  ///< B, at least 1: its weight when backends are scarce.
    std::uint32_t pinned_max = 0;   ///< Pins of its sessions at once.
    /// Whether new transactions may come. One that only ends what it has takes no share from the
    /// others.
    bool is_open = true;
    /// Its transactions go before all others, and a place is set aside for them.
    bool is_housekeeping = false;
};

/// Why a connect failed, in PostgreSQL's words or, when it never spoke, in ours.
struct ConnectTrouble {
    std::string sqlstate;  ///< Empty when the failure has none (connection refused …).
    std::string message;
    /// The server refused this very login (class 28, 3D000, 42704, 22023 …): trying again would not
    /// help.
    bool permanent = false;
    std::string detail = {};  ///< Of PostgreSQL's error; empty when it has none, as is `hint`.
    std::string hint = {};
};

/// Why a waiter gets no backend.
enum class PoolRefusal : std::uint8_t {
    pool_timeout,  ///< None came free within pool_wait.
    backend_down,  ///< PostgreSQL can't be reached at present.
    permanent,     ///< This group can't be had for good: the answer is the trouble's SQLSTATE.
};

struct Flow;
struct Group;
struct InFlow;
struct ByArrival;

/// A place in the pool's queue: base class of whatever in a session waits (a transaction for a
/// backend, a login for its group's greeting). Waits for one thing at a time, never moves, and must
/// have left the queue before it dies: a check says so.
class PoolWaiter : public ListHook<InFlow>, public ListHook<ByArrival> {
public:
    /// True from an ask that was neither answered nor refused at once, until the waiter was named
    /// by an action or forgotten.
    [[nodiscard]] bool waiting() const { return ListHook<InFlow>::is_linked(); }
    /// When it asked. Kept after the wait is over, so that the wait can be recorded.
    [[nodiscard]] Instant asked() const { return asked_; }

private:
    friend class Pool;
    friend class WaitingRoom;
    Flow* flow_ = nullptr;          // of a waiting transaction
    Group* login_group_ = nullptr;  // of a waiting login
    std::uint64_t number_ = 0;      // order of arrival
    Instant asked_;
};

enum class PoolActionKind : std::uint8_t {
    connect,  ///< Open a backend of `group`; ends in on_connected or on_connect_failed.
    close,    ///< Say goodbye to the idle `backend`; on_gone when its end was seen.
    lend,     ///< `waiter` gets `backend`. If its session is gone by now: give_back.
    refuse,   ///< `waiter` gets none, for `refusal`.
    greet,    ///< `waiter`, a login, can be greeted: the values of `group` are known.
    forget,   ///< `group` has no session and no backend left; its number will be used again.
};

/// What the driver is to do; only the fields named above mean something, but `group` always does.
struct PoolAction {
    PoolActionKind kind = PoolActionKind::connect;
    GroupId group{};
    BackendId backend{};
    PoolWaiter* waiter = nullptr;  ///< Out of the queue already.
    PoolRefusal refusal = PoolRefusal::pool_timeout;
    /// The real reason of a refusal: never null for backend_down and permanent; for pool_timeout set
    /// when the latest connect failed. Valid until the next join() or on_connect_failed().
    const ConnectTrouble* trouble = nullptr;
};

/// Running totals since the start.
struct PoolTotals {
    std::uint64_t connects = 0;          ///< Backends that became usable.
    std::uint64_t connect_failures = 0;  ///< Attempts that did not.
    std::uint64_t swaps = 0;             ///< Idle backends closed to make place for another group.
    std::uint64_t lends = 0;             ///< Backends given to transactions; pins not counted.
    std::uint64_t worn_out = 0;          ///< Closed for idle_timeout or lifetime_max.
};

/// One group as people see it.
struct PoolGroupCounts {
    std::uint32_t sessions = 0;
    std::uint32_t waiting = 0;  ///< Transactions.
    BackendCounts backends;
};

/// One workload as the pool sees it.
struct PoolWorkloadCounts {
    std::uint32_t lent = 0;     ///< Backends its transactions run on.
    std::uint32_t waiting = 0;  ///< Its transactions that wait for one.
    std::uint32_t pins = 0;     ///< Pins reserved by its sessions, whether in use or not.
};

}  // namespace pgb

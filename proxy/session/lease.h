#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/session/backend_cancel.h"
#include "proxy/session/holding.h"
#include "proxy/session/session_state.h"

namespace pgb {

/// What the driver knows at the moment of a call.
struct Turn {
    Instant now;
    /// Somebody waits for a permit of this session's workload, or for a backend of its pool.
    bool contended = false;
};

/// What the proxy itself has sent to the backend and is not answered yet.
enum class OwnWork : std::uint8_t {
    none,
    batch_abort,  ///< the end of a batch that the frontend did not finish, or that was refused
    rollback,
    barrier,       ///< a round trip behind which everything was answered
    probe,         ///< a batch that finds out whether the backend is well
    probe_failed,  ///< it was not: the error has ended what made it so
    probe_again,   ///< the same batch, which must succeed
    discard,       ///< DISCARD ALL
    prepare,       ///< the session's settings, before its first byte of work
    ask_locks,     ///< whether advisory locks are held
};

/// Work that prepares or cleans the backend, about which no frontend waits to hear.
[[nodiscard]] constexpr bool is_housework(OwnWork work) {
    return work != OwnWork::none && work != OwnWork::batch_abort;
}

/// How much of what stands next is housekeeping, which was all seen before a permit was asked for:
/// nothing behind it belongs to the lease.
enum class HouseUnit : std::uint8_t {
    none,      ///< The lease is for whatever comes.
    to_sync,   ///< A Query, or a batch up to its Sync.
    to_flush,  ///< A batch that has run nothing up to a Flush, where the proxy ends it.
};

/// The timeouts of the workload and the pool a permit was granted for. Zero: off.
struct LeaseRules {
    Duration holder_idle{0};
    Duration transaction{0};
    Duration deadline{0};  ///< of a transaction that brings none
    Duration cancel_after_leave{0};
    Duration reset_timeout{0};
    Duration cancel_timeout{0};
    /// Of housekeeping: what runs longer is cancelled.
    Duration statement{0};
    /// Clean the backend after each transaction, whatever its texts say.
    bool reset_always = false;
};

/// An unnamed statement too long to be made again elsewhere, while a later batch may still bind it:
/// for that the session keeps its backend.
///
///    none --parsed--> fresh --bound--> none          of this lease
///         --keep---> kept --bound--> kept_bound      of an earlier one
///                      ^--unbind-------'
class StuckUnnamed {
public:
    [[nodiscard]] bool is_awaited() const {
        return state_ == State::fresh || state_ == State::kept;
    }

    void keep() { state_ = State::kept; }
    void parsed(bool is_stuck) { state_ = is_stuck ? State::fresh : State::none; }
    void bound() {
        const bool was_kept = state_ == State::kept || state_ == State::kept_bound;
        state_ = was_kept ? State::kept_bound : State::none;
    }
    /// The batch that has bound it failed.
    void unbind() {
        if (state_ == State::kept_bound) state_ = State::kept;
    }
    void give_up() { state_ = State::none; }

private:
    enum class State : std::uint8_t { none, fresh, kept, kept_bound };
    State state_ = State::none;
};

/// What is known of the workload of the unit that stands next in a pipeline.
enum class NextUnit : std::uint8_t {
    unknown,
    same,   ///< it may go ahead on the held permit
    other,  ///< it waits for the answer to everything before it
};

/// A portal whose statement is DEALLOCATE or DISCARD ALL.
struct PortalDrops {
    std::string portal;
    bool all = false;
    std::string name;  ///< of the statement, if not all
};

/// What is true of one lease of a backend, from on_backend_ready() to its end; a new one starts
/// with these values.
struct Lease {
    bool worked = false;            ///< something of the frontend's was sent
    bool first_unit_sent = false;   ///< only one Query or batch goes ahead of BEGIN's reply
    bool commit_sent = false;       ///< and not answered yet
    bool begin_sent = false;        ///< by the frontend, behind other work, and not answered yet
    bool end_sent = false;          ///< something that may end a block, and not answered yet
    bool reset_needed = false;      ///< the backend must be cleaned before anyone else gets it
    bool discard_all_sent = false;  ///< the frontend itself cleaned it, if error_seen is false
    bool error_seen = false;
    bool role_doubted = false;    ///< an error that a backend gives whose role was dropped
    bool worn_out = false;        ///< a resident has left it: nobody else gets it
    bool begin_prepares = false;  ///< the next own ParseComplete confirms a BEGIN statement
    std::vector<PortalDrops> portal_drops;  ///< portals that drop statements when they run
    bool flushed = false;                   ///< the proxy asked for held replies; once is enough
    bool aborted = false;                   ///< the batch of a frontend that has gone was ended
    bool catalogs_changed = false;          ///< maybe, and not yet for the others to see
    bool locks_changed = false;             ///< maybe: PostgreSQL is asked whether there are any
    PinReasons unpins = 0;                  ///< what ends when the frontend's work succeeds
    bool muted = false;                     ///< what the backend says from here on is about that
    std::uint32_t sync_points = 0;          ///< forwarded since the permit was granted
    Instant granted_at;
    Instant transaction_since;       ///< granted_at, or when the one before it in a pipeline ended
    Instant due = Instant::never();  ///< its deadline
    bool is_due_by_tag = false;      ///< that its client has told
    bool is_past_due = false;        ///< and something was done about it
    bool owes_past_due = false;      ///< its block has failed for that, which was not told yet
    bool awaits_first_statement = false;  ///< the next statement may still bring a deadline
    BackendCancel cancel;
    StuckUnnamed unnamed;
    StatementClock clock;  ///< of what was sent of the frontend's
    NextUnit next_unit = NextUnit::unknown;
    HouseUnit unit = HouseUnit::none;
};

}  // namespace pgb

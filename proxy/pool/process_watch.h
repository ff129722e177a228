#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/pool/backend_state.h"

namespace pgb {

/// PostgreSQL's process behind a backend, as a look at pg_stat_activity tells it.
struct SeenProcess {
    std::uint32_t pid = 0;
    std::int64_t started = 0;  ///< Its backend_start, in microseconds of PostgreSQL's clock.
    bool waits_for_lock = false;
    bool idle_in_transaction = false;
};

/// Whom a look asked about.
struct AskedProcess {
    BackendId backend;
    std::uint32_t pid = 0;
    bool orphaned = false;
};

/// Which processes of one pool's backends PostgreSQL was seen to have, and what they did.
///
///   W1  a process has gone only if the same server (one start of its postmaster) has shown it
///       before, by pid and start, and shows it no more. So a sampler that was pointed at another
///       server, or moved to one, frees nothing.
///   W2  what was seen is of the time when the look was asked for; what began later it says
///       nothing of.
///
/// Pure. Bounded by the pool's size: one entry for each slot.
class ProcessWatch {
public:
    struct Sight {
        bool waits_for_lock = false;
        bool idle_in_transaction = false;
        Instant asked;                               ///< When the look was asked for.
        Instant lock_wait_since = Instant::never();  ///< When it was first seen to wait.
    };

    /// The answer to a look: `server` is the start of the postmaster. Appends to `gone` those of
    /// the orphans among `asked` that have ended.
    void on_look(std::int64_t server, Instant asked_at, std::span<const AskedProcess> asked,
                 std::span<const SeenProcess> seen, std::vector<BackendId>& gone);

    /// What the last look showed of it; nullptr: nothing.
    [[nodiscard]] const Sight* sight_of(BackendId backend) const;
    /// Whether its process was ever seen: until then it cannot be found missing.
    [[nodiscard]] bool knows(BackendId backend) const;
    /// Nobody looks any more: what was seen is out of date, who was seen is not.
    void forget_sights();

private:
    struct Entry {
        BackendId backend;
        std::int64_t server = 0;
        std::int64_t started = 0;
        bool in_sight = false;
        Sight sight;
    };
    static void note(Entry& entry, BackendId backend, std::int64_t server, const SeenProcess& seen,
                     Instant asked_at);
    std::unordered_map<std::uint32_t, Entry> entries_;  // by slot
};

}  // namespace pgb

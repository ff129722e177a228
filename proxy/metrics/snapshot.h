#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/base/process_figures.h"
#include "proxy/metrics/counters.h"

namespace pgb {

/// Whether this instance wants new sessions, and if not, why.
enum class Readiness : std::uint8_t {
    ready,         ///< Also when every budget is full: shedding is the work, not a failure.
    starting,      ///< The listeners are not open yet.
    draining,      ///< It is about to end.
    backend_down,  ///< PostgreSQL cannot be reached: none of the entries that were used.
};

inline constexpr std::array kReadinesses = {Readiness::ready, Readiness::starting,
                                            Readiness::draining, Readiness::backend_down};

constexpr std::string_view to_word(Readiness readiness) {
    switch (readiness) {
        case Readiness::ready: return "ready";
        case Readiness::starting: return "starting";
        case Readiness::draining: return "draining";
        case Readiness::backend_down: return "backend_down";
    }
    return "unknown";
}

/// A count under a word of ours (a shed reason, a backend state); the word has static storage.
struct WordCount {
    std::string_view word;
    std::uint64_t count = 0;
};

/// One workload at one moment. The names of the gate's books (proxy/gate/lane_stats.h) are kept.
struct WorkloadSnapshot {
    std::string name;
    bool listed = true;             ///< The file has it; false: it was removed.
    std::uint32_t concurrency = 0;  ///< B in force.
    std::uint32_t queue = 0;        ///< Q in force.
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    std::uint32_t peak_running = 0;
    std::uint32_t peak_waiting = 0;
    std::vector<WordCount> modes;  ///< 1 for the mode in force, 0 for the others.
    std::uint64_t arrived = 0;
    std::uint64_t admitted = 0;
    std::vector<WordCount> rejected;  ///< By reason; reasons that never happened stand with 0.
    std::vector<WordCount> rejected_holders;  ///< Those of `rejected` that had a permit.
    std::uint64_t cancelled_while_queued = 0;
    std::uint64_t left_while_queued = 0;
    std::uint32_t parked = 0;
    std::uint32_t peak_parked = 0;
    std::uint64_t parkings = 0;
    std::uint64_t unparked = 0;
    std::uint64_t cancelled_while_parked = 0;
    std::uint64_t left_while_parked = 0;
    std::uint64_t retries = 0;
    std::uint64_t early_retries = 0;
    std::uint32_t shadow_running = 0;  ///< What enforcing would run; 0 unless in shadow.
    std::uint32_t shadow_waiting = 0;
    std::vector<WordCount> would_reject;
    std::uint32_t orphaned = 0;  ///< Permits held for work whose client and answer are gone.
    std::uint32_t pinned = 0;    ///< Sessions that keep their backend between transactions.
    std::optional<double>
        overload_age;        ///< Seconds since the episode's latest refusal; none: no overload.
    SampledHolders sampled;  ///< All zero without a lock sampler.
    WorkloadTimes times;
};

/// How an entry's lock sampler does.
struct SamplerHealth {
    bool working = false;
    std::uint64_t failures = 0;  ///< Connection attempts and looks that failed.
};

/// PostgreSQL cannot be reached.
struct DatabaseOutage {
    double seconds = 0;   ///< Since the first of the attempts that failed in a row.
    std::string message;  ///< Of the latest; as it came, so it may have several lines.
};

/// One entry of `databases` at one moment.
struct DatabaseSnapshot {
    std::string name;                 ///< As the file spells it; "*" is one, too.
    std::uint32_t pool_size = 0;      ///< P in force.
    std::uint32_t waiting = 0;        ///< Permit holders that wait for a backend.
    std::vector<WordCount> backends;  ///< By state; states nobody is in stand with 0.
    std::uint64_t connects = 0;       ///< Backends opened.
    std::uint64_t connect_failures = 0;
    std::uint64_t swaps = 0;  ///< Idle backends closed to make room for another user's.
    std::optional<DatabaseOutage> outage;  ///< None: its latest connection attempt succeeded.
    std::optional<SamplerHealth> sampler;  ///< None: the entry has no lock sampler.
};

/// Everything the HTTP thread may see: a copy, made by the event loop, that shares nothing with it.
struct Snapshot {
    std::string version;  ///< Of this build.
    Readiness readiness = Readiness::starting;
    std::uint32_t clients = 0;           ///< Sessions that have authenticated.
    std::uint32_t startup_sessions = 0;  ///< Sessions that have not yet.
    double uptime_seconds = 0;
    Totals totals;
    ReloadFigures reloads = {};
    /// None: the system does not say. The loop never asks it; whoever renders the snapshot does.
    std::optional<ProcessFigures> process = {};
    std::vector<WorkloadSnapshot> workloads;
    std::vector<DatabaseSnapshot> databases;
};

}  // namespace pgb

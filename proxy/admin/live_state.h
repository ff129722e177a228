#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/admin/chronicle.h"
#include "proxy/admin/holders.h"
#include "proxy/base/http_answer.h"
#include "proxy/base/instant.h"
#include "proxy/metrics/recent_times.h"
#include "proxy/metrics/snapshot.h"

namespace pgb {

/// The backends of one database and user.
struct PoolView {
    std::string entry;  ///< Of `databases`.
    std::string database;
    std::string user;
    std::uint32_t sessions = 0;
    std::uint32_t waiting = 0;
    std::vector<WordCount> backends;  ///< By state.
};

/// What the snapshot does not tell of a workload; by number.
struct WorkloadFacts {
    Duration queue_wait{0};
    bool is_housekeeping = false;  ///< No file names it, and nobody changes it.
    RecentTimes::Recent recent;
};

/// Everything that the live page shows, at one moment.
struct LiveState {
    Instant made;
    double unix_seconds = 0;
    double instance = 0;  ///< Another number for each start of the program.
    Snapshot snapshot;
    std::vector<WorkloadFacts> facts;  ///< As many as the snapshot has workloads.
    std::vector<bool> paused;          ///< By the console; of each database of the snapshot.
    Duration window{0};                ///< Of what time the percentiles are.
    std::vector<PoolView> pools;       ///< The busiest first.
    std::size_t pools_left_out = 0;
    HolderList holders;
    std::vector<Event> events;  ///< The newest first.
};

/// `GET /api/v1/state`: JSON. Statements are masked; bytes that are not UTF-8 are replaced. `age`: how
/// long ago it was made; the loop hangs when that is seconds.
[[nodiscard]] HttpAnswer answer_state(const LiveState& state, Duration age);
/// The same as an event of a stream, with the latest events only.
[[nodiscard]] std::string state_event(const LiveState& state, Duration age, bool with_history);

}  // namespace pgb

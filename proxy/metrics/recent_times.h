#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/metrics/counters.h"

namespace pgb {

/// What a histogram says about the times of a while.
struct Percentiles {
    std::uint64_t count = 0;
    std::optional<Duration> p50;  ///< Nothing: there was none.
    std::optional<Duration> p99;
};

/// Of what was recorded between two copies of one histogram. Within a bucket times are taken to be
/// spread evenly; those above the last bound count as that bound.
[[nodiscard]] Percentiles percentiles_between(const Histogram& before, const Histogram& after);

/// The times of all workloads in the last seconds, for people who look every second: those since a
/// copy that is kTurn to twice that old, or older when nobody has looked for a while; at first those
/// since the start.
class RecentTimes {
public:
    static constexpr Duration kTurn = std::chrono::seconds(5);

    struct Recent {
        Percentiles wait;
        Percentiles hold;
    };

    explicit RecentTimes(Instant start) : older_{start, {}}, newer_{start, {}} {}

    /// Of each workload, by its number; as many as before or more.
    [[nodiscard]] std::vector<Recent> look(std::span<const WorkloadTimes> times, Instant now);
    /// Of what time the last look told.
    [[nodiscard]] Duration window() const { return window_; }

private:
    struct Copies {
        Histogram wait;
        Histogram hold;
    };
    struct Look {
        Instant at;
        std::vector<Copies> of;
    };

    Look older_;
    Look newer_;
    Duration window_{0};
};

}  // namespace pgb

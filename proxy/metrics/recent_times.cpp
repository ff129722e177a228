#include "proxy/metrics/recent_times.h"

#include <array>
#include <cstddef>
#include <utility>

namespace pgb {

namespace {

using Counts = std::array<std::uint64_t, Histogram::kBucketCount>;

Duration quantile(const Counts& counts, std::uint64_t count, double part) {
    const double rank = part * static_cast<double>(count);
    double below = 0;
    for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
        const auto here = static_cast<double>(counts[i]);
        if (here > 0 && below + here >= rank) {
            const auto from = static_cast<double>(i == 0 ? 0 : Histogram::kBounds[i - 1].count());
            const auto to = static_cast<double>(Histogram::kBounds[i].count());
            return Duration(static_cast<Duration::rep>(from + (to - from) * (rank - below) / here));
        }
        below += here;
    }
    return Histogram::kBounds.back();
}

}  // namespace

Percentiles percentiles_between(const Histogram& before, const Histogram& after) {
    Counts counts{};
    Percentiles result{.count = after.count() - before.count(), .p50 = {}, .p99 = {}};
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] = after.counts()[i] - before.counts()[i];
    }
    if (result.count == 0) return result;
    result.p50 = quantile(counts, result.count, 0.5);
    result.p99 = quantile(counts, result.count, 0.99);
    return result;
}

std::vector<RecentTimes::Recent> RecentTimes::look(std::span<const WorkloadTimes> times,
                                                   Instant now) {
    if (now - newer_.at >= kTurn) {
        older_ = std::move(newer_);
        newer_ = {now, {}};
        newer_.of.reserve(times.size());
        for (const WorkloadTimes& each : times) {
            newer_.of.push_back({each.gate_wait, each.permit_hold});
        }
    }
    window_ = now - older_.at;
    std::vector<Recent> result;
    result.reserve(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
        // A workload that came later began with none.
        const Copies before = i < older_.of.size() ? older_.of[i] : Copies{};
        result.push_back({percentiles_between(before.wait, times[i].gate_wait),
                          percentiles_between(before.hold, times[i].permit_hold)});
    }
    return result;
}

}  // namespace pgb

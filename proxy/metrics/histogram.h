#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "proxy/base/instant.h"

namespace pgb {

namespace histogram_detail {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Steps of 2 to 2.5 from a tenth of what one fast statement takes to what any default timeout
// allows: narrow enough to see a wait double, few enough to scrape for many workloads.
inline constexpr std::array<Duration, 19> kBounds = {
    microseconds(50),   microseconds(100), microseconds(250), microseconds(500), milliseconds(1),
    microseconds(2500), milliseconds(5),   milliseconds(10),  milliseconds(25),  milliseconds(50),
    milliseconds(100),  milliseconds(250), milliseconds(500), seconds(1),        milliseconds(2500),
    seconds(5),         seconds(10),       seconds(30),       seconds(60),
};

// For each number of significant bits of a value in nanoseconds, the first bucket that could hold
// such a value: record() then looks at three bounds at most.
constexpr std::array<std::uint8_t, 65> first_buckets() {
    std::array<std::uint8_t, 65> first{};
    for (std::size_t bits = 1; bits < first.size(); ++bits) {
        const std::uint64_t smallest = std::uint64_t{1} << (bits - 1);
        std::size_t bucket = 0;
        while (bucket < kBounds.size() &&
               static_cast<std::uint64_t>(kBounds[bucket].count()) < smallest) {
            ++bucket;
        }
        first[bits] = static_cast<std::uint8_t>(bucket);
    }
    return first;
}
inline constexpr auto kFirstBucket = first_buckets();

}  // namespace histogram_detail

/// Counts durations by size. A plain value: copying it is reading it.
class Histogram {
public:
    /// Upper bounds of all buckets but the last, which has none. A value equal to a bound is in
    /// that bound's bucket.
    static constexpr const auto& kBounds = histogram_detail::kBounds;
    static constexpr std::size_t kBucketCount = kBounds.size() + 1;

    /// A negative duration counts as zero.
    void record(Duration duration) {
        const Duration value = std::max(duration, Duration::zero());
        const auto ns = static_cast<std::uint64_t>(value.count());
        std::size_t bucket =
            histogram_detail::kFirstBucket[static_cast<std::size_t>(std::bit_width(ns))];
        while (bucket < kBounds.size() && kBounds[bucket] < value) ++bucket;
        ++counts_[bucket];
        ++count_;
        sum_ns_ += static_cast<double>(ns);
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// In nanoseconds: a sum of many long waits does not fit a Duration.
    [[nodiscard]] double sum_ns() const { return sum_ns_; }
    /// Of each bucket by itself, not cumulative.
    [[nodiscard]] const std::array<std::uint64_t, kBucketCount>& counts() const { return counts_; }

private:
    std::array<std::uint64_t, kBucketCount> counts_{};
    std::uint64_t count_ = 0;
    double sum_ns_ = 0;
};

}  // namespace pgb

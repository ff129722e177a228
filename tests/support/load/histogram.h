#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "proxy/base/instant.h"

namespace pgb::load {

/// Latencies in logarithmic buckets: every power of two of nanoseconds is cut into 32 equal parts,
/// so a quantile is at most 3.2 % above the latency it stands for. Recording is a few
/// instructions and allocates nothing; two histograms add up bucket by bucket.
class Histogram {
public:
    /// Negative spans count as 0; spans over about 9 hours count in the last bucket.
    void record(Duration span);
    void add(const Histogram& other);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] Duration max() const { return Duration(max_ns_); }
    /// 0 when nothing was recorded.
    [[nodiscard]] Duration mean() const;
    /// The upper end of the bucket in which the quantile lies, never above max(); `q` in 0..1.
    [[nodiscard]] Duration quantile(double q) const;

private:
    static constexpr unsigned kPartBits = 5;
    static constexpr unsigned kPowers = 40;
    static constexpr std::size_t kBuckets = (kPowers + 1) << kPartBits;

    static std::size_t bucket_of(std::uint64_t ns);
    static std::uint64_t upper_end_of(std::size_t bucket);

    std::array<std::uint64_t, kBuckets> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ns_ = 0;
    std::int64_t max_ns_ = 0;
};

}  // namespace pgb::load

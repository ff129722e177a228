#include "tests/support/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pgb::load {

// Values below 2^kPartBits have a bucket each. Above, the highest set bit chooses the power and
// the kPartBits bits after it choose the part.
std::size_t Histogram::bucket_of(std::uint64_t ns) {
    if (ns < (1U << kPartBits)) return static_cast<std::size_t>(ns);
    const auto width = static_cast<unsigned>(std::bit_width(ns));
    const unsigned shift = width - 1 - kPartBits;
    const std::uint64_t part = (ns >> shift) - (1U << kPartBits);
    const std::size_t bucket = ((static_cast<std::size_t>(shift) + 1) << kPartBits) + part;
    return std::min(bucket, kBuckets - 1);
}

std::uint64_t Histogram::upper_end_of(std::size_t bucket) {
    if (bucket < (1U << kPartBits)) return bucket;
    const std::size_t shift = (bucket >> kPartBits) - 1;
    const std::size_t part = bucket & ((1U << kPartBits) - 1);
    return ((static_cast<std::uint64_t>(part) + (1U << kPartBits) + 1) << shift) - 1;
}

void Histogram::record(Duration span) {
    const std::int64_t ns = std::max<std::int64_t>(span.count(), 0);
    ++buckets_[bucket_of(static_cast<std::uint64_t>(ns))];
    ++count_;
    sum_ns_ += static_cast<std::uint64_t>(ns);
    max_ns_ = std::max(max_ns_, ns);
}

void Histogram::add(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ns_ += other.sum_ns_;
    max_ns_ = std::max(max_ns_, other.max_ns_);
}

Duration Histogram::mean() const {
    return count_ == 0 ? Duration(0) : Duration(static_cast<std::int64_t>(sum_ns_ / count_));
}

Duration Histogram::quantile(double q) const {
    if (count_ == 0) return Duration(0);
    const double exact_rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(exact_rank));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        seen += buckets_[i];
        if (seen < rank) continue;
        const auto end = static_cast<std::int64_t>(upper_end_of(i));
        return Duration(i == kBuckets - 1 ? max_ns_ : std::min(end, max_ns_));
    }
    return max();
}

}  // namespace pgb::load

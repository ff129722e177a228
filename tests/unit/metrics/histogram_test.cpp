#include "proxy/metrics/histogram.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

std::size_t bucket_of(Duration value) {
    Histogram histogram;
    histogram.record(value);
    const auto& counts = histogram.counts();
    const auto found = std::find(counts.begin(), counts.end(), 1U);
    return static_cast<std::size_t>(found - counts.begin());
}

std::size_t bucket_by_search(Duration value) {
    const auto& bounds = Histogram::kBounds;
    const auto found = std::lower_bound(bounds.begin(), bounds.end(), value);
    return static_cast<std::size_t>(found - bounds.begin());
}

TEST_CASE("histogram: bounds rise") {
    CHECK(std::is_sorted(Histogram::kBounds.begin(), Histogram::kBounds.end()));
    CHECK(Histogram::kBounds.front() > Duration::zero());
}

TEST_CASE("histogram: a value is in the first bucket whose bound is not below it") {
    for (const Duration bound : Histogram::kBounds) {
        for (const Duration value : {bound - nanoseconds(1), bound, bound + nanoseconds(1)}) {
            INFO(value.count() << " ns");
            CHECK(bucket_of(value) == bucket_by_search(value));
        }
    }
    std::mt19937_64 random(1);
    for (int i = 0; i < 10'000; ++i) {
        const Duration value(static_cast<Duration::rep>(random() >> (1 + random() % 63)));
        INFO(value.count() << " ns");
        REQUIRE(bucket_of(value) == bucket_by_search(value));
    }
}

TEST_CASE("histogram: the ends of the scale have a place") {
    CHECK(bucket_of(Duration::zero()) == 0);
    CHECK(bucket_of(nanoseconds(1)) == 0);
    CHECK(bucket_of(seconds(-1)) == 0);
    CHECK(bucket_of(Duration::min()) == 0);
    CHECK(bucket_of(seconds(60)) == Histogram::kBucketCount - 2);
    CHECK(bucket_of(seconds(61)) == Histogram::kBucketCount - 1);
    CHECK(bucket_of(Duration::max()) == Histogram::kBucketCount - 1);
}

TEST_CASE("histogram: count and sum are those of what was recorded") {
    Histogram histogram;
    CHECK(histogram.count() == 0);
    for (int i = 1; i <= 100; ++i) histogram.record(milliseconds(i));
    histogram.record(seconds(-5));
    CHECK(histogram.count() == 101);
    CHECK(histogram.sum_ns() == Approx(5050e6));
    const auto& counts = histogram.counts();
    CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == 101);
}

TEST_CASE("histogram: a copy does not follow the original") {
    Histogram histogram;
    histogram.record(milliseconds(1));
    const Histogram copy = histogram;
    histogram.record(milliseconds(1));
    CHECK(copy.count() == 1);
    CHECK(histogram.count() == 2);
}

}  // namespace
}  // namespace pgb::test

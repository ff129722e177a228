#include "proxy/metrics/recent_times.h"

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using namespace std::chrono_literals;

Instant at(Duration since) { return Instant(since); }

std::vector<WorkloadTimes> one(Duration wait, int count, WorkloadTimes before = {}) {
    for (int i = 0; i < count; ++i) before.gate_wait.record(wait);
    return {before};
}

TEST_CASE("percentiles: of nothing there are none") {
    const Percentiles none = percentiles_between({}, {});
    CHECK(none.count == 0);
    CHECK_FALSE(none.p50.has_value());
}

TEST_CASE("percentiles: they lie in the bucket where so many lie below") {
    Histogram before;
    before.record(30s);
    Histogram after = before;
    for (int i = 0; i < 98; ++i) after.record(7ms);
    after.record(700ms);
    after.record(700ms);
    const Percentiles found = percentiles_between(before, after);
    CHECK(found.count == 100);
    CHECK((*found.p50 > 5ms && *found.p50 <= 10ms));
    CHECK((*found.p99 > 500ms && *found.p99 <= 1s));
}

TEST_CASE("percentiles: what is above the last bound counts as that bound") {
    Histogram after;
    after.record(1h);
    CHECK(*percentiles_between({}, after).p99 == Histogram::kBounds.back());
}

TEST_CASE("recent times: what is long ago is no longer told") {
    RecentTimes recent(at(0s));
    std::vector<WorkloadTimes> times = one(1s, 10);
    CHECK(recent.look(times, at(1s))[0].wait.count == 10);
    CHECK(recent.window() == 1s);
    // The copies of seconds 5 and 10; then only what came after the fifth.
    CHECK(recent.look(times, at(5s))[0].wait.count == 10);
    times = one(1ms, 3, times[0]);
    CHECK(recent.look(times, at(10s))[0].wait.count == 3);
    CHECK(recent.window() == 5s);
    CHECK(recent.look(times, at(15s))[0].wait.count == 0);
}

TEST_CASE("recent times: a workload that comes later begins with nothing") {
    RecentTimes recent(at(0s));
    std::vector<WorkloadTimes> times = one(1s, 1);
    (void)recent.look(times, at(6s));
    times.push_back(one(1s, 2)[0]);
    CHECK(recent.look(times, at(12s))[1].wait.count == 2);
}

}  // namespace
}  // namespace pgb::test

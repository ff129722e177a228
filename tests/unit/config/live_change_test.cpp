#include "config/live_change.h"

#include <string>
#include <string_view>
#include <vector>

#include "config/yaml.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

Config two() {
    Loaded loaded = load(
        "workloads:\n"
        "  - {name: reports, match: {user: rita}, concurrency: 2, queue: 5, queue_wait: 1s}\n"
        "  - {name: default, concurrency: 8}\n");
    REQUIRE(loaded.config);
    return *loaded.config;
}

std::vector<std::string> lines(const LivePlan& plan) {
    std::vector<std::string> texts;
    for (const Change& change : plan.changes) texts.push_back(change.text());
    return texts;
}

}  // namespace

TEST_CASE("live change: budget, queue, wait and mode are told as a reload tells them") {
    const LivePlan plan = plan_live_change(
        two(),
        {"reports",
         {{"concurrency", "8"}, {"queue", "16"}, {"queue_wait", "250ms"}, {"mode", "shadow"}}});
    CHECK(plan.fault == LiveFault::none);
    CHECK(lines(plan) == std::vector<std::string>{"workloads[reports].mode: enforce -> shadow",
                                                  "workloads[reports].concurrency: 2 -> 8",
                                                  "workloads[reports].queue: 5 -> 16",
                                                  "workloads[reports].queue_wait: 1s -> 250ms"});
    CHECK(plan.wanted.workloads[0].concurrency == 8);
    CHECK(plan.wanted.workloads[1] == two().workloads[1]);
}

TEST_CASE("live change: what is so already changes nothing") {
    const LivePlan plan = plan_live_change(two(), {"default", {{"concurrency", "8"}}});
    CHECK(plan.fault == LiveFault::none);
    CHECK(plan.changes.empty());
    CHECK(plan.wanted == two());
}

TEST_CASE("live change: an unknown workload is refused, with the likely one") {
    const LivePlan plan = plan_live_change(two(), {"report", {{"concurrency", "8"}}});
    CHECK(plan.fault == LiveFault::unknown_workload);
    CHECK(plan.message == "there is no workload `report`");
    CHECK(plan.suggestion == "reports");
    CHECK(plan_live_change(two(), {"housekeeping", {{"concurrency", "8"}}}).fault ==
          LiveFault::unknown_workload);
}

TEST_CASE("live change: only the numbers of an overload can be changed, each once") {
    const LivePlan typo = plan_live_change(two(), {"reports", {{"concurency", "8"}}});
    CHECK(typo.fault == LiveFault::unknown_key);
    CHECK(typo.suggestion == "concurrency");
    CHECK(plan_live_change(two(), {"reports", {{"sqlstate", "40001"}}}).fault ==
          LiveFault::unknown_key);
    CHECK(plan_live_change(two(), {"reports", {{"queue", "1"}, {"queue", "2"}}}).fault ==
          LiveFault::unknown_key);
    CHECK(plan_live_change(two(), {"reports", {}}).fault == LiveFault::unknown_key);
}

TEST_CASE("live change: a value is judged as the file's is") {
    const auto message = [](std::string key, std::string value) {
        const LivePlan plan = plan_live_change(two(), {"reports", {{key, value}}});
        CHECK(plan.fault == LiveFault::bad_value);
        CHECK(plan.changes.empty());
        return plan.message;
    };
    CHECK(message("concurrency", "0").starts_with("`concurrency`: must be from 1 to "));
    CHECK(message("concurrency", "many").starts_with("`concurrency`: "));
    CHECK(message("queue_wait", "250").starts_with("`queue_wait`: "));
    CHECK(message("mode", "shadwo") == "`mode`: takes enforce, shadow or off, not `shadwo`");
}

TEST_CASE("live change: it warns of what is new and of nothing else") {
    const LivePlan plan = plan_live_change(two(), {"reports", {{"queue_wait", "0"}}});
    CHECK(plan.fault == LiveFault::none);
    CHECK(plan.warnings ==
          std::vector<std::string>{"a queue without a `queue_wait` is never used"});
    CHECK(plan_live_change(two(), {"reports", {{"mode", "off"}}}).warnings.empty());
}

}  // namespace pgb::config::test

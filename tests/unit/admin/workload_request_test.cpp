#include "proxy/admin/workload_request.h"

#include <nlohmann/json.hpp>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using Json = nlohmann::json;

TEST_CASE("workload request: the name is what follows the folder") {
    CHECK(workload_in_path("/api/v1/workloads/re-ports.2") == "re-ports.2");
    CHECK_FALSE(workload_in_path("/api/v1/workloads/").has_value());
    CHECK_FALSE(workload_in_path("/api/v1/workloads").has_value());
    CHECK_FALSE(workload_in_path("/api/v1/workloads/a/b").has_value());
    CHECK_FALSE(workload_in_path("/api/v1/state").has_value());
}

TEST_CASE("workload request: numbers and words become what the file would say") {
    const auto read = read_workload_request(
        R"({"concurrency": 8, "queue": 0, "queue_wait": "250ms", "dry_run": true})");
    REQUIRE(read.ok());
    CHECK(read.value().dry_run);
    const std::vector<std::pair<std::string, std::string>> wanted = {
        {"concurrency", "8"}, {"queue", "0"}, {"queue_wait", "250ms"}};
    CHECK(read.value().values == wanted);
    CHECK_FALSE(read_workload_request(R"({"queue": 1})").value().dry_run);
}

TEST_CASE("workload request: what is no object of numbers and words is refused") {
    for (const char* body :
         {"", "[]", "8", "{", R"({"queue": -1})", R"({"queue": 1.5})", R"({"queue": null})",
          R"({"queue": {"a": 1}})", R"({"dry_run": "yes"})", "\xff"}) {
        CHECK_FALSE(read_workload_request(body).ok());
    }
    // Nested without end: refused, and the stack is none the worse.
    CHECK_FALSE(read_workload_request(std::string(16000, '[')).ok());
}

TEST_CASE("workload request: the answer says what is different and what became of it") {
    LiveChangeReport report{.outcome = LiveChangeReport::Outcome::planned};
    report.changes = {{"workloads[a].queue", "1", "2", true}};
    const HttpAnswer planned = answer_live_change(report);
    CHECK(planned.status == 200);
    CHECK(Json::parse(planned.body)["changed"] == false);
    CHECK(Json::parse(planned.body)["changes"][0]["after"] == "2");
    report.outcome = LiveChangeReport::Outcome::done;
    CHECK(Json::parse(answer_live_change(report).body)["changed"] == true);
    report.outcome = LiveChangeReport::Outcome::unknown_workload;
    CHECK(answer_live_change(report).status == 404);
    report.outcome = LiveChangeReport::Outcome::bad_value;
    report.message = "no such mode";
    CHECK(answer_live_change(report).status == 422);
    CHECK(Json::parse(answer_live_change(report).body)["message"] == "no such mode");
}

}  // namespace
}  // namespace pgb::test

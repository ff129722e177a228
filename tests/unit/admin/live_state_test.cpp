#include "proxy/admin/live_state.h"

#include <nlohmann/json.hpp>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

LiveState some_state() {
    LiveState state;
    state.made = Instant(100s);
    state.unix_seconds = 1700000000;
    state.snapshot.version = "1.2.3";
    state.snapshot.readiness = Readiness::ready;
    WorkloadSnapshot workload;
    workload.name = "reports";
    workload.concurrency = 2;
    workload.queue = 3;
    workload.running = 1;
    workload.modes = {{"enforce", 0}, {"shadow", 1}, {"off", 0}};
    workload.rejected = {{"queue_full", 7}};
    WorkloadSnapshot removed = workload;
    removed.name = "removed";
    removed.listed = false;
    removed.running = 0;
    state.snapshot.workloads = {workload, removed};
    state.facts.resize(2);
    state.facts[0].queue_wait = 250ms;
    state.facts[0].recent.hold = {.count = 4, .p50 = 5ms, .p99 = 1500ms};
    state.snapshot.databases.resize(1);
    state.paused = {true};
    state.holders.made = state.made;
    Holder holder;
    holder.workload = "reports";
    holder.granted_at = Instant(90s);
    holder.client = "\xff<script>";
    holder.statement = "select 'secret' -- why\nfrom t";
    state.holders.holders = {holder};
    for (int i = 0; i < 30; ++i) {
        state.events.emplace_back();
        state.events.back().number = static_cast<std::uint64_t>(30 - i);
    }
    return state;
}

TEST_CASE("live state: JSON with everything that the page shows") {
    const HttpAnswer answer = answer_state(some_state(), 1s);
    CHECK(answer.status == 200);
    CHECK(answer.content_type.starts_with("application/json"));
    const Json json = Json::parse(answer.body);
    CHECK(json["readiness"] == "ready");
    CHECK(json["age_seconds"] == 1.0);
    const Json& workload = json["workloads"][0];
    CHECK(workload["mode"] == "shadow");
    CHECK(workload["queue_wait_seconds"] == 0.25);
    CHECK(workload["rejected"]["queue_full"] == 7);
    CHECK(workload["hold_seconds"]["p99"] == 1.5);
    CHECK(workload["wait_seconds"]["p99"].is_null());
    CHECK(json["events"].size() == 30);
    CHECK(json["databases"][0]["paused"] == true);
}

TEST_CASE("live state: a removed workload is told only as long as it has something") {
    LiveState state = some_state();
    CHECK(Json::parse(answer_state(state, 0s).body)["workloads"].size() == 1);
    state.snapshot.workloads[1].waiting = 1;
    CHECK(Json::parse(answer_state(state, 0s).body)["workloads"].size() == 2);
}

TEST_CASE("live state: statements are masked, and bytes that are no text do no harm") {
    const HttpAnswer answer = answer_state(some_state(), 0s);
    CHECK(answer.body.find("secret") == std::string::npos);
    const Json json = Json::parse(answer.body);
    CHECK(json["holders"]["oldest"][0]["statement"] == "select ? from t");
    CHECK(json["holders"]["oldest"][0]["age_seconds"] == 10.0);
}

TEST_CASE("live state: an event of a stream is one line, with the latest events only") {
    const std::string text = state_event(some_state(), 0s, false);
    REQUIRE(text.starts_with("event: state\ndata: {"));
    REQUIRE(text.ends_with("}\n\n"));
    const std::string data = text.substr(19, text.size() - 21);
    CHECK(data.find('\n') == std::string::npos);
    CHECK(Json::parse(data)["events"].size() == 20);
    CHECK(Json::parse(data)["events"][0]["number"] == 30);
    CHECK(state_event(some_state(), 0s, true).size() > text.size());
}

}  // namespace
}  // namespace pgb::test

#include "proxy/admin/views.h"

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

HttpAnswer ask(std::string_view path, Readiness readiness, Duration age = Duration::zero()) {
    Snapshot snapshot;
    snapshot.readiness = readiness;
    WorkloadSnapshot& full = snapshot.workloads.emplace_back();
    full.name = "default";
    full.concurrency = full.running = 1;
    full.queue = full.waiting = 2;
    full.rejected = {{"queue_full", 1'000'000}};
    return answer_probe(path, snapshot, age);
}

TEST_CASE("probes: ready means 200, also when every permit and queue place is taken") {
    const HttpAnswer answer = ask("/readyz", Readiness::ready);
    CHECK(answer.status == 200);
    CHECK(answer.body == "ready\n");
    CHECK(answer.content_type == "text/plain; charset=utf-8");
}

TEST_CASE("probes: not ready means 503 and says why") {
    CHECK(ask("/readyz", Readiness::draining).status == 503);
    CHECK(ask("/readyz", Readiness::draining).body == "not ready: draining\n");
    CHECK(ask("/readyz", Readiness::backend_down).status == 503);
    CHECK(ask("/readyz", Readiness::backend_down).body == "not ready: backend_down\n");
    CHECK(ask("/readyz", Readiness::starting).status == 503);
    CHECK(ask("/readyz", Readiness::starting).body == "not ready: starting\n");
}

TEST_CASE("probes: whether ready or not, what is on fire is told in lines of its own") {
    Snapshot snapshot;
    snapshot.readiness = Readiness::ready;
    DatabaseSnapshot& database = snapshot.databases.emplace_back();
    database.name = "*";
    database.outage = DatabaseOutage{11.8, "connection refused\n\tat host \"db\"\x1b[2J\n"};
    WorkloadSnapshot& workload = snapshot.workloads.emplace_back();
    workload.name = "reports";
    workload.concurrency = workload.running = 3;
    workload.queue = 6;
    workload.waiting = 5;
    workload.overload_age = 2.4;
    const std::string expected =
        "database * cannot be reached for 12 s: connection refused  at host \"db\" [2J\n"
        "workload reports is overloaded: running 3 of 3, waiting 5 of 6, last refusal 2 s ago\n";
    CHECK(answer_probe("/readyz", snapshot, Duration::zero()).body == "ready\n" + expected);
    snapshot.readiness = Readiness::backend_down;
    CHECK(answer_probe("/readyz", snapshot, Duration::zero()).body ==
          "not ready: backend_down\n" + expected);
}

TEST_CASE("probes: health does not depend on readiness, so a restart is not asked for in vain") {
    for (const Readiness readiness : kReadinesses) {
        CHECK(ask("/healthz", readiness).status == 200);
        CHECK(ask("/healthz", readiness).body == "ok\n");
    }
}

TEST_CASE("probes: a loop that does not turn is neither healthy nor ready") {
    CHECK(ask("/healthz", Readiness::ready, kStuckAfter).status == 200);
    CHECK(ask("/readyz", Readiness::ready, kStuckAfter).status == 200);
    const Duration late = kStuckAfter + std::chrono::seconds(1);
    CHECK(ask("/healthz", Readiness::ready, late).status == 503);
    CHECK(ask("/healthz", Readiness::ready, late).body ==
          "the event loop has not turned for 11 s\n");
    CHECK(ask("/readyz", Readiness::ready, late).status == 503);
}

TEST_CASE("probes: metrics are Prometheus text with its content type") {
    const HttpAnswer answer = ask("/metrics", Readiness::draining);
    CHECK(answer.status == 200);
    CHECK(answer.content_type == "text/plain; version=0.0.4; charset=utf-8");
    CHECK(answer.body.find("pgbulkhead_workload_running{workload=\"default\"} 1\n") !=
          std::string::npos);
}

TEST_CASE("probes: nothing else is served") {
    for (const char* path : {"/", "", "/metrics/", "/healthz/x", "//healthz", "/HEALTHZ",
                             "/../healthz", "/readyz\r\nX: y"}) {
        INFO(path);
        CHECK(ask(path, Readiness::ready).status == 404);
    }
}

}  // namespace
}  // namespace pgb::test

#include "proxy/metrics/families.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

WorkloadSnapshot workload(std::string name) {
    WorkloadSnapshot w;
    w.name = std::move(name);
    w.concurrency = 3;
    w.queue = 6;
    w.running = 2;
    w.waiting = 1;
    w.peak_running = 3;
    w.peak_waiting = 5;
    w.admitted = 1000;
    w.rejected = {{"queue_full", 7}, {"queue_timeout", 0}};
    w.modes = {{"enforce", 0}, {"shadow", 1}};
    w.arrived = 1024;
    w.rejected_holders = {{"pool_timeout", 2}};
    w.parked = 21;
    w.peak_parked = 22;
    w.parkings = 23;
    w.unparked = 24;
    w.cancelled_while_parked = 25;
    w.left_while_parked = 26;
    w.retries = 27;
    w.early_retries = 28;
    w.shadow_running = 29;
    w.shadow_waiting = 30;
    w.would_reject = {{"queue_full", 31}};
    w.cancelled_while_queued = 8;
    w.left_while_queued = 9;
    w.orphaned = 1;
    w.pinned = 4;
    w.sampled = {.waiting_for_lock = 2,
                 .idle_in_transaction = 1,
                 .lock_wait_seconds = 7.5,
                 .idle_in_transaction_seconds = 0.25};
    w.times.statement.record(std::chrono::milliseconds(3));
    w.times.gate_wait.record(std::chrono::milliseconds(2));
    w.times.gate_wait.record(std::chrono::seconds(120));
    return w;
}

Snapshot full_snapshot() {
    Snapshot s;
    s.version = "0.1.0";
    s.readiness = Readiness::draining;
    s.clients = 12;
    s.startup_sessions = 2;
    s.uptime_seconds = 1.5;
    s.process = ProcessFigures{.cpu_seconds = 12.25,
                               .resident_bytes = 50 << 20,
                               .virtual_bytes = std::uint64_t{3} << 30,
                               .open_fds = 31,
                               .max_fds = 1048576,
                               .start_time_seconds = 1764000000.5};
    s.totals.bytes_from_clients = 9'007'199'254'740'991;
    s.reloads = {.last_succeeded = false,
                 .last_success_seconds = 1.75e9,
                 .succeeded = 6,
                 .failed = 7,
                 .restart_needed = 8};
    s.workloads = {workload("reports"), workload("default")};
    s.workloads[0].listed = false;
    DatabaseSnapshot& d = s.databases.emplace_back();
    d.name = "*";
    d.pool_size = 24;
    d.backends = {{"idle", 3}, {"lent", 2}};
    d.connects = 30;
    d.connect_failures = 4;
    d.swaps = 5;
    d.outage = DatabaseOutage{1, "refused"};
    d.sampler = SamplerHealth{.working = true, .failures = 2};
    return s;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

bool has_line(const std::string& text, const std::string& line) {
    const auto lines = lines_of(text);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
}

/// Runs Prometheus' own linter; 0 when it has no complaint.
int promtool(const std::string& text) {
    std::FILE* tool = popen("promtool check metrics", "w");
    if (tool == nullptr) return -1;
    std::fwrite(text.data(), 1, text.size(), tool);
    return WEXITSTATUS(pclose(tool));
}

TEST_CASE("metrics: Prometheus' own linter has no complaint") {
    CHECK(promtool(render_prometheus(full_snapshot())) == 0);
    CHECK(promtool(render_prometheus(Snapshot())) == 0);
}

TEST_CASE("metrics: the linter is there and complains about what is wrong") {
    CHECK(promtool("pgbulkhead_without_help 1\n") != 0);
}

TEST_CASE("metrics: every figure of a workload has its line") {
    const std::string text = render_prometheus(full_snapshot());
    for (
        const char* line : {
            R"(pgbulkhead_workload_concurrency_limit{workload="reports"} 3)",
            R"(pgbulkhead_workload_queue_limit{workload="reports"} 6)",
            R"(pgbulkhead_workload_configured{workload="reports"} 0)",
            R"(pgbulkhead_workload_configured{workload="default"} 1)",
            R"(pgbulkhead_workload_running{workload="reports"} 2)",
            R"(pgbulkhead_workload_waiting{workload="reports"} 1)",
            R"(pgbulkhead_workload_peak_running{workload="reports"} 3)",
            R"(pgbulkhead_workload_peak_waiting{workload="reports"} 5)",
            R"(pgbulkhead_workload_admitted_total{workload="reports"} 1000)",
            R"(pgbulkhead_workload_rejected_total{workload="reports",reason="queue_full"} 7)",
            R"(pgbulkhead_workload_rejected_total{workload="default",reason="queue_timeout"} 0)",
            R"(pgbulkhead_workload_cancelled_while_queued_total{workload="reports"} 8)",
            R"(pgbulkhead_workload_left_while_queued_total{workload="reports"} 9)",
            R"(pgbulkhead_workload_mode{workload="reports",mode="enforce"} 0)",
            R"(pgbulkhead_workload_mode{workload="reports",mode="shadow"} 1)",
            R"(pgbulkhead_workload_arrived_total{workload="reports"} 1024)",
            R"(pgbulkhead_workload_rejected_holders_total{workload="reports",reason="pool_timeout"} 2)",
            R"(pgbulkhead_workload_parked{workload="reports"} 21)",
            R"(pgbulkhead_workload_peak_parked{workload="reports"} 22)",
            R"(pgbulkhead_workload_parkings_total{workload="reports"} 23)",
            R"(pgbulkhead_workload_unparked_total{workload="reports"} 24)",
            R"(pgbulkhead_workload_cancelled_while_parked_total{workload="reports"} 25)",
            R"(pgbulkhead_workload_left_while_parked_total{workload="reports"} 26)",
            R"(pgbulkhead_workload_retries_total{workload="reports"} 27)",
            R"(pgbulkhead_workload_early_retries_total{workload="reports"} 28)",
            R"(pgbulkhead_workload_shadow_running{workload="reports"} 29)",
            R"(pgbulkhead_workload_shadow_waiting{workload="reports"} 30)",
            R"(pgbulkhead_workload_would_reject_total{workload="reports",reason="queue_full"} 31)",
            R"(pgbulkhead_workload_orphaned{workload="reports"} 1)",
            R"(pgbulkhead_workload_pinned{workload="reports"} 4)",
            R"(pgbulkhead_workload_lock_waiting{workload="reports"} 2)",
            R"(pgbulkhead_workload_idle_in_transaction{workload="reports"} 1)",
            R"(pgbulkhead_workload_lock_wait_seconds_total{workload="reports"} 7.5)",
            R"(pgbulkhead_workload_idle_in_transaction_seconds_total{workload="reports"} 0.25)",
            R"(pgbulkhead_workload_statement_seconds_count{workload="reports"} 1)",
        }) {
        INFO(line);
        CHECK(has_line(text, line));
    }
}

TEST_CASE("metrics: every figure of a database entry and of the process has its line") {
    const std::string text = render_prometheus(full_snapshot());
    for (const char* line : {
             R"(pgbulkhead_database_pool_size_limit{database="*"} 24)",
             R"(pgbulkhead_database_backends{database="*",state="idle"} 3)",
             R"(pgbulkhead_database_backends{database="*",state="lent"} 2)",
             R"(pgbulkhead_database_connects_total{database="*"} 30)",
             R"(pgbulkhead_database_connect_failures_total{database="*"} 4)",
             R"(pgbulkhead_database_swaps_total{database="*"} 5)",
             R"(pgbulkhead_database_reachable{database="*"} 0)",
             R"(pgbulkhead_build_info{version="0.1.0"} 1)",
             R"(pgbulkhead_readiness{state="draining"} 1)",
             R"(pgbulkhead_readiness{state="ready"} 0)",
             "pgbulkhead_config_last_reload_successful 0",
             "pgbulkhead_config_last_reload_success_timestamp_seconds 1750000000",
             "pgbulkhead_config_restart_needed 8",
             R"(pgbulkhead_config_reloads_total{result="success"} 6)",
             R"(pgbulkhead_config_reloads_total{result="failure"} 7)",
             "pgbulkhead_clients 12",
             "pgbulkhead_startup_sessions 2",
             "pgbulkhead_uptime_seconds 1.5",
             "process_cpu_seconds_total 12.25",
             "process_resident_memory_bytes 52428800",
             "process_virtual_memory_bytes 3221225472",
             "process_open_fds 31",
             "process_max_fds 1048576",
             "process_start_time_seconds 1764000000.5",
             "pgbulkhead_received_from_clients_bytes_total 9007199254740991",
         }) {
        INFO(line);
        CHECK(has_line(text, line));
    }
}

TEST_CASE("metrics: a lock sampler is shown for the entries that have one") {
    Snapshot s = full_snapshot();
    const std::string with = render_prometheus(s);
    CHECK(has_line(with, R"(pgbulkhead_database_lock_sampler_up{database="*"} 1)"));
    CHECK(has_line(with, R"(pgbulkhead_database_lock_sampler_failures_total{database="*"} 2)"));
    s.databases[0].sampler.reset();
    CHECK(render_prometheus(s).find("lock_sampler") == std::string::npos);
}

TEST_CASE("metrics: a histogram's buckets are cumulative and end with its count") {
    const std::string text = render_prometheus(full_snapshot());
    const std::string name = "pgbulkhead_workload_gate_wait_seconds";
    CHECK(has_line(text, name + R"(_bucket{workload="reports",le="0.001"} 0)"));
    CHECK(has_line(text, name + R"(_bucket{workload="reports",le="0.0025"} 1)"));
    CHECK(has_line(text, name + R"(_bucket{workload="reports",le="60"} 1)"));
    CHECK(has_line(text, name + R"(_bucket{workload="reports",le="+Inf"} 2)"));
    CHECK(has_line(text, name + R"(_count{workload="reports"} 2)"));
    CHECK(has_line(text, name + R"(_sum{workload="reports"} 120.002)"));
}

TEST_CASE(
    "metrics: names with quotes, backslashes, newlines and emoji stay one valid series each") {
    Snapshot s;
    for (const char* name : {"a\"b", "a\\b", "a\nb", "a} 1\nforged 1", "\xf0\x9f\x90\x98"}) {
        s.workloads.push_back(workload(name));
    }
    s.workloads.push_back(workload(std::string(10'000, 'x')));
    const std::string text = render_prometheus(s);
    CHECK(promtool(text) == 0);
    CHECK(!has_line(text, "forged 1"));
    CHECK(has_line(text, R"(pgbulkhead_workload_running{workload="a\"b"} 2)"));
    CHECK(has_line(text, R"(pgbulkhead_workload_running{workload="a\nb"} 2)"));
}

TEST_CASE("metrics: no series stands twice") {
    std::set<std::string> seen;
    for (const std::string& line : lines_of(render_prometheus(full_snapshot()))) {
        if (line.empty() || line[0] == '#') continue;
        const std::string series = line.substr(0, line.rfind(' '));
        INFO(series);
        CHECK(seen.insert(series).second);
    }
    CHECK(seen.size() > 100);
}

TEST_CASE("metrics: all readiness states are shown, one of them as 1") {
    for (const Readiness state : kReadinesses) {
        Snapshot s;
        s.readiness = state;
        const std::string text = render_prometheus(s);
        for (const Readiness other : kReadinesses) {
            const std::string line = "pgbulkhead_readiness{state=\"" + std::string(to_word(other)) +
                                     "\"} " + (other == state ? "1" : "0");
            INFO(line);
            CHECK(has_line(text, line));
        }
    }
}

}  // namespace
}  // namespace pgb::test

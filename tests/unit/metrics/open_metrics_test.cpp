#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>

#include "proxy/metrics/families.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

Snapshot snapshot_of(const std::string& workload, const std::string& database) {
    Snapshot s;
    s.version = "0.1.0";
    s.uptime_seconds = 1.5;
    s.totals.bytes_from_clients = 9'007'199'254'740'991;
    s.reloads.last_success_seconds = 1764000000.123;
    s.process =
        ProcessFigures{.cpu_seconds = 12.25, .max_fds = std::numeric_limits<double>::infinity()};
    WorkloadSnapshot& w = s.workloads.emplace_back();
    w.name = workload;
    w.rejected = {{"queue_full", 7}};
    w.modes = {{"enforce", 1}};
    w.sampled.lock_wait_seconds = 0.1 + 0.2;
    w.times.gate_wait.record(std::chrono::milliseconds(2));
    w.times.gate_wait.record(std::chrono::seconds(120));
    DatabaseSnapshot& d = s.databases.emplace_back();
    d.name = database;
    d.backends = {{"idle", 3}};
    d.sampler = SamplerHealth{.working = true, .failures = 2};
    return s;
}

/// Has the reference implementation's strict parser read the text; what it says, empty: no complaint.
std::string complaint(const std::string& text) {
    std::FILE* parser = popen(
        "/usr/bin/python3 -c 'import sys\n"
        "from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n"
        "assert sum(len(f.samples) for f in parse(sys.stdin.buffer.read().decode())) > 20' 2>&1 "
        ">/dev/null | tail -n 1 > open_metrics_complaint.txt; ! [ -s open_metrics_complaint.txt ]",
        "w");
    if (parser == nullptr) return "cannot be run";
    std::fwrite(text.data(), 1, text.size(), parser);
    const int code = WEXITSTATUS(pclose(parser));
    std::ifstream file("open_metrics_complaint.txt");
    std::string said((std::istreambuf_iterator<char>(file)), {});
    std::remove("open_metrics_complaint.txt");
    return code == 0 ? said : said + "(exit code " + std::to_string(code) + ")";
}

}  // namespace

TEST_CASE("openmetrics: the strict parser has no complaint") {
    CHECK(complaint(render_open_metrics(snapshot_of("reports", "*"))).empty());
    CHECK(complaint(render_open_metrics(Snapshot())).empty());
}

TEST_CASE("openmetrics: the strict parser is there and complains about what is wrong") {
    std::string text = render_open_metrics(snapshot_of("reports", "*"));
    text.erase(text.size() - 6);
    CHECK(has(complaint(text), "EOF"));
}

TEST_CASE("openmetrics: counters, units and infos are told as that format tells them") {
    const std::string text = render_open_metrics(snapshot_of("reports", "*"));
    CHECK(text.ends_with("\n# EOF\n"));
    for (const char* part : {
             "# TYPE pgbulkhead_workload_rejected counter\n"
             "# HELP pgbulkhead_workload_rejected Transactions refused",
             "\npgbulkhead_workload_rejected_total{workload=\"reports\",reason=\"queue_full\"} 7\n",
             "# TYPE pgbulkhead_received_from_clients_bytes counter\n"
             "# UNIT pgbulkhead_received_from_clients_bytes bytes\n",
             "\npgbulkhead_received_from_clients_bytes_total 9007199254740991\n",
             "# TYPE pgbulkhead_build info\n",
             "\npgbulkhead_build_info{version=\"0.1.0\"} 1\n",
             "# UNIT pgbulkhead_workload_lock_wait_seconds seconds\n",
             "\npgbulkhead_workload_lock_wait_seconds_total{workload=\"reports\"} "
             "0.30000000000000004\n",
             "# UNIT pgbulkhead_config_last_reload_success_timestamp_seconds seconds\n",
             "\npgbulkhead_config_last_reload_success_timestamp_seconds 1764000000.123\n",
             "\nprocess_max_fds +Inf\n",
             "# TYPE process_cpu_seconds counter\n# UNIT process_cpu_seconds seconds\n",
             "\nprocess_cpu_seconds_total 12.25\n",
             "# TYPE process_open_fds gauge\n# HELP process_open_fds",
         }) {
        INFO(part);
        CHECK(has(text, part));
    }
}

TEST_CASE("openmetrics: bounds of buckets are canonical numbers, and the last is the count") {
    const std::string text = render_open_metrics(snapshot_of("reports", "*"));
    const std::string name = "\npgbulkhead_workload_gate_wait_seconds";
    for (const char* part :
         {R"(_bucket{workload="reports",le="5e-05"} 0)",
          R"(_bucket{workload="reports",le="0.0001"} 0)",
          R"(_bucket{workload="reports",le="0.0025"} 1)",
          R"(_bucket{workload="reports",le="1.0"} 1)", R"(_bucket{workload="reports",le="60.0"} 1)",
          R"(_bucket{workload="reports",le="+Inf"} 2)", R"(_count{workload="reports"} 2)",
          R"(_sum{workload="reports"} 120.002)"}) {
        INFO(part);
        CHECK(has(text, name + part + "\n"));
    }
}

TEST_CASE("openmetrics: hostile names stay one valid series each") {
    for (const std::string& name :
         {std::string("a\"b"), std::string("a\\b"), std::string("a\nb"), std::string("a\\nb\\"),
          std::string("a} 1\nforged 1"), std::string("# EOF\n# EOF"),
          std::string("\xf0\x9f\x90\x98"), std::string(10'000, 'x')}) {
        const std::string text = render_open_metrics(snapshot_of(name, name));
        INFO(name.substr(0, 20));
        CHECK(complaint(text).empty());
        CHECK_FALSE(has(text, "\nforged 1"));
    }
    CHECK(has(render_open_metrics(snapshot_of("a\\\"\nb", "*")),
              R"(pgbulkhead_workload_running{workload="a\\\"\nb"} 0)"));
}

TEST_CASE("openmetrics: both formats have the same samples") {
    const Snapshot snapshot = snapshot_of("reports", "*");
    const auto names = [](const std::string& text) {
        std::multiset<std::string> all;
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
            if (text[at] != '#') all.insert(text.substr(at, text.find_first_of("{ ", at) - at));
        }
        return all;
    };
    CHECK(names(render_open_metrics(snapshot)) == names(render_prometheus(snapshot)));
}

TEST_CASE("metrics: figures of the process are left out where the system does not tell them") {
    Snapshot snapshot = snapshot_of("reports", "*");
    snapshot.process.reset();
    CHECK_FALSE(has(render_prometheus(snapshot), "process_cpu"));
    CHECK_FALSE(has(render_open_metrics(snapshot), "process_cpu"));
}

}  // namespace pgb::test

#include <array>
#include <string>

#include "proxy/metrics/families_made.h"

namespace pgb {

namespace {

struct TotalFamily {
    MetricType type;
    const char* name;
    const char* help;
    double (*value)(const Snapshot&);
};

constexpr std::array kTotals = {
    TotalFamily{MetricType::Gauge, "pgbulkhead_uptime_seconds",
                "Time since this process started to listen.",
                [](const Snapshot& s) { return s.uptime_seconds; }},
    TotalFamily{MetricType::Gauge, "pgbulkhead_clients", "Authenticated client sessions now.",
                [](const Snapshot& s) { return number(s.clients); }},
    TotalFamily{MetricType::Gauge, "pgbulkhead_startup_sessions",
                "Client connections now that have not finished authentication.",
                [](const Snapshot& s) { return number(s.startup_sessions); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_clients_accepted_total",
                "Client connections accepted on all listeners.",
                [](const Snapshot& s) { return number(s.totals.clients_accepted); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_clients_refused_total",
                "Client connections turned away because max_clients or max_startup was reached.",
                [](const Snapshot& s) { return number(s.totals.clients_refused); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_auth_failures_total",
                "Client connections that ended before their session was ready.",
                [](const Snapshot& s) { return number(s.totals.auth_failures); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_tls_handshakes_total",
                "TLS handshakes with clients that succeeded.",
                [](const Snapshot& s) { return number(s.totals.tls_handshakes); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_tls_handshake_failures_total",
                "TLS handshakes with clients that failed; those that just went are not counted.",
                [](const Snapshot& s) { return number(s.totals.tls_handshake_failures); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_cancel_requests_total",
                "CancelRequests received, whether their key was known or not.",
                [](const Snapshot& s) { return number(s.totals.cancel_requests); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_backend_cancels_failed_total",
                "Cancels of backends that PostgreSQL did not take, or did not close in time.",
                [](const Snapshot& s) { return number(s.totals.backend_cancels_failed); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_statements_prepared_total",
                "Prepared statements of a session made on a further backend.",
                [](const Snapshot& s) { return number(s.totals.statements_prepared); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_statements_evicted_total",
                "Prepared statements closed on a backend that had max_backend_statements.",
                [](const Snapshot& s) { return number(s.totals.statements_evicted); }},
    TotalFamily{MetricType::Gauge, "pgbulkhead_config_last_reload_successful",
                "1 unless the latest attempt to load the file failed.",
                [](const Snapshot& s) { return s.reloads.last_succeeded ? 1.0 : 0.0; }},
    TotalFamily{MetricType::Gauge, "pgbulkhead_config_last_reload_success_timestamp_seconds",
                "Unix time at which the file was last loaded.",
                [](const Snapshot& s) { return s.reloads.last_success_seconds; }},
    TotalFamily{MetricType::Gauge, "pgbulkhead_config_restart_needed",
                "Keys and entries of the file that are not in force before a restart.",
                [](const Snapshot& s) { return number(s.reloads.restart_needed); }},
    TotalFamily{MetricType::Gauge, "pgbulkhead_config_live_changes",
                "Keys of workloads in force as they were changed past the file, until a reload.",
                [](const Snapshot& s) { return number(s.reloads.live_changes); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_received_from_clients_bytes_total",
                "Bytes read from clients.",
                [](const Snapshot& s) { return number(s.totals.bytes_from_clients); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_sent_to_clients_bytes_total",
                "Bytes written to clients.",
                [](const Snapshot& s) { return number(s.totals.bytes_to_clients); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_received_from_backends_bytes_total",
                "Bytes read from PostgreSQL.",
                [](const Snapshot& s) { return number(s.totals.bytes_from_backends); }},
    TotalFamily{MetricType::Counter, "pgbulkhead_sent_to_backends_bytes_total",
                "Bytes written to PostgreSQL.",
                [](const Snapshot& s) { return number(s.totals.bytes_to_backends); }},
};

struct SystemFamily {
    MetricType type;
    const char* name;
    const char* help;
    double (*value)(const ProcessFigures&);
};

// The names, and nearly the words, of every client library: dashboards and alerts know them.
constexpr std::array kSystem = {
    SystemFamily{MetricType::Counter, "process_cpu_seconds_total",
                 "Total user and system CPU time spent in seconds.",
                 [](const ProcessFigures& p) { return p.cpu_seconds; }},
    SystemFamily{MetricType::Gauge, "process_resident_memory_bytes",
                 "Resident memory size in bytes.",
                 [](const ProcessFigures& p) { return number(p.resident_bytes); }},
    SystemFamily{MetricType::Gauge, "process_virtual_memory_bytes", "Virtual memory size in bytes.",
                 [](const ProcessFigures& p) { return number(p.virtual_bytes); }},
    SystemFamily{MetricType::Gauge, "process_open_fds", "Number of open file descriptors.",
                 [](const ProcessFigures& p) { return number(p.open_fds); }},
    SystemFamily{MetricType::Gauge, "process_max_fds", "Maximum number of open file descriptors.",
                 [](const ProcessFigures& p) { return p.max_fds; }},
    SystemFamily{MetricType::Gauge, "process_start_time_seconds",
                 "Start time of the process since unix epoch in seconds.",
                 [](const ProcessFigures& p) { return p.start_time_seconds; }},
};

}  // namespace

void add_process_families(Families& families, const Snapshot& snapshot) {
    add_value(add_family(families, MetricType::Gauge, "pgbulkhead_build_info",
                         "Always 1; the label is the version of this build."),
              1, {{"version", snapshot.version}});
    MetricFamily& ready =
        add_family(families, MetricType::Gauge, "pgbulkhead_readiness",
                   "1 for the state that the instance is in, 0 for the others; a full budget is "
                   "ready.");
    for (const Readiness state : kReadinesses) {
        add_value(ready, state == snapshot.readiness ? 1 : 0,
                  {{"state", std::string(to_word(state))}});
    }
    MetricFamily& reloads =
        add_family(families, MetricType::Counter, "pgbulkhead_config_reloads_total",
                   "Attempts to load the file anew, by result; a failure changes nothing.");
    add_value(reloads, number(snapshot.reloads.succeeded), {{"result", "success"}});
    add_value(reloads, number(snapshot.reloads.failed), {{"result", "failure"}});
    for (const TotalFamily& total : kTotals) {
        add_value(add_family(families, total.type, total.name, total.help), total.value(snapshot));
    }
    if (!snapshot.process) return;
    for (const SystemFamily& row : kSystem) {
        add_value(add_family(families, row.type, row.name, row.help), row.value(*snapshot.process));
    }
}

}  // namespace pgb

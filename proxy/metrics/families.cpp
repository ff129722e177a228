#include "proxy/metrics/families.h"

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "proxy/metrics/families_made.h"

namespace pgb {

namespace {

constexpr double kNanosecondsPerSecond = 1e9;

void add_histogram(MetricFamily& family, const Histogram& histogram, Labels labels) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    metric.histogram.sample_count = histogram.count();
    metric.histogram.sample_sum = histogram.sum_ns() / kNanosecondsPerSecond;
    std::uint64_t cumulative = 0;
    for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
        cumulative += histogram.counts()[i];
        const double bound = number(Histogram::kBounds[i].count()) / kNanosecondsPerSecond;
        metric.histogram.bucket.push_back({cumulative, bound});
    }
    // The serializer writes the last bucket, le="+Inf", from the count.
}

struct WorkloadFamily {
    MetricType type;
    const char* name;
    const char* help;
    double (*value)(const WorkloadSnapshot&);
};

constexpr std::array kWorkloads = {
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_configured",
                   "1 while the file has the workload; 0: removed, it ends what it has.",
                   [](const WorkloadSnapshot& w) { return w.listed ? 1.0 : 0.0; }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_concurrency_limit",
                   "B: transactions of the workload that may run at once.",
                   [](const WorkloadSnapshot& w) { return number(w.concurrency); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_queue_limit",
                   "Q: further transactions of the workload that may wait for a permit.",
                   [](const WorkloadSnapshot& w) { return number(w.queue); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_running", "Execution permits held now.",
                   [](const WorkloadSnapshot& w) { return number(w.running); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_waiting",
                   "Transactions that wait for a permit now.",
                   [](const WorkloadSnapshot& w) { return number(w.waiting); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_peak_running",
                   "Most permits held at once since the start.",
                   [](const WorkloadSnapshot& w) { return number(w.peak_running); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_peak_waiting",
                   "Most transactions waiting at once since the start.",
                   [](const WorkloadSnapshot& w) { return number(w.peak_waiting); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_parked",
                   "Sessions that came back too early and are held until they may.",
                   [](const WorkloadSnapshot& w) { return number(w.parked); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_peak_parked",
                   "Most sessions parked at once since the start.",
                   [](const WorkloadSnapshot& w) { return number(w.peak_parked); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_shadow_running",
                   "Permits that would be held now if a workload in shadow enforced its budget.",
                   [](const WorkloadSnapshot& w) { return number(w.shadow_running); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_shadow_waiting",
                   "Transactions that would wait now if a workload in shadow enforced its budget.",
                   [](const WorkloadSnapshot& w) { return number(w.shadow_waiting); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_orphaned",
                   "Permits held now for work whose client has gone and whose end is not known.",
                   [](const WorkloadSnapshot& w) { return number(w.orphaned); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_pinned",
                   "Sessions that keep their backend between transactions now.",
                   [](const WorkloadSnapshot& w) { return number(w.pinned); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_arrived_total",
                   "Transactions that asked for a permit.",
                   [](const WorkloadSnapshot& w) { return number(w.arrived); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_admitted_total",
                   "Permits granted, at once or after a wait.",
                   [](const WorkloadSnapshot& w) { return number(w.admitted); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_cancelled_while_queued_total",
                   "Transactions cancelled while they waited for a permit.",
                   [](const WorkloadSnapshot& w) { return number(w.cancelled_while_queued); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_left_while_queued_total",
                   "Transactions whose client left while they waited for a permit.",
                   [](const WorkloadSnapshot& w) { return number(w.left_while_queued); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_parkings_total",
                   "Sessions that came back too early, found no slot and were parked.",
                   [](const WorkloadSnapshot& w) { return number(w.parkings); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_unparked_total",
                   "Parked sessions whose transaction then arrived.",
                   [](const WorkloadSnapshot& w) { return number(w.unparked); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_cancelled_while_parked_total",
                   "Transactions cancelled while their session was parked.",
                   [](const WorkloadSnapshot& w) { return number(w.cancelled_while_parked); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_left_while_parked_total",
                   "Transactions whose client left while its session was parked.",
                   [](const WorkloadSnapshot& w) { return number(w.left_while_parked); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_retries_total",
                   "Arrivals of a refused session within twice the time that it was told.",
                   [](const WorkloadSnapshot& w) { return number(w.retries); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_early_retries_total",
                   "Those retries that came before the time that they were told.",
                   [](const WorkloadSnapshot& w) { return number(w.early_retries); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_deadline_cancelled_total",
                   "Transactions cancelled or rolled back in PostgreSQL at their deadline.",
                   [](const WorkloadSnapshot& w) { return number(w.times.deadline_cancelled); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_deadline_tags_ignored_total",
                   "Statements whose deadline_ms tag is no number, and counts for nothing.",
                   [](const WorkloadSnapshot& w) { return number(w.times.deadline_tags_ignored); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_lock_waiting",
                   "Permit holders that waited for a lock at the lock sampler's last look.",
                   [](const WorkloadSnapshot& w) { return number(w.sampled.waiting_for_lock); }},
    WorkloadFamily{MetricType::Gauge, "pgbulkhead_workload_idle_in_transaction",
                   "Permit holders idle in a transaction at the lock sampler's last look.",
                   [](const WorkloadSnapshot& w) { return number(w.sampled.idle_in_transaction); }},
    WorkloadFamily{MetricType::Counter, "pgbulkhead_workload_lock_wait_seconds_total",
                   "Time that permit holders waited for locks, as the lock sampler saw it.",
                   [](const WorkloadSnapshot& w) { return w.sampled.lock_wait_seconds; }},
    WorkloadFamily{
        MetricType::Counter, "pgbulkhead_workload_idle_in_transaction_seconds_total",
        "Time that permit holders were idle in a transaction, as the lock sampler saw it.",
        [](const WorkloadSnapshot& w) { return w.sampled.idle_in_transaction_seconds; }},
};

struct WordFamily {
    MetricType type;
    const char* name;
    const char* help;
    const char* label;
    std::vector<WordCount> WorkloadSnapshot::*counts;
};

constexpr std::array kWords = {
    WordFamily{MetricType::Gauge, "pgbulkhead_workload_mode",
               "1 for the mode that the workload is in, 0 for the others.", "mode",
               &WorkloadSnapshot::modes},
    WordFamily{MetricType::Counter, "pgbulkhead_workload_rejected_total",
               "Transactions refused, by reason; none of them had any effect in PostgreSQL.",
               "reason", &WorkloadSnapshot::rejected},
    WordFamily{MetricType::Counter, "pgbulkhead_workload_rejected_holders_total",
               "Those refused that had been granted a permit and count as admitted, too.", "reason",
               &WorkloadSnapshot::rejected_holders},
    WordFamily{MetricType::Counter, "pgbulkhead_workload_would_reject_total",
               "Transactions that a workload in shadow let through and would have refused.",
               "reason", &WorkloadSnapshot::would_reject},
};

struct TimeFamily {
    const char* name;
    const char* help;
    Histogram WorkloadTimes::*histogram;
};

constexpr std::array kTimes = {
    TimeFamily{"pgbulkhead_workload_gate_wait_seconds",
               "Time from arrival to the permit, of admitted transactions.",
               &WorkloadTimes::gate_wait},
    TimeFamily{"pgbulkhead_workload_pool_wait_seconds", "Time from the permit to a backend.",
               &WorkloadTimes::pool_wait},
    TimeFamily{"pgbulkhead_workload_permit_hold_seconds", "Time a permit was held.",
               &WorkloadTimes::permit_hold},
    TimeFamily{"pgbulkhead_workload_transaction_seconds",
               "Time from arrival to the end of the transaction.", &WorkloadTimes::transaction},
    TimeFamily{"pgbulkhead_workload_statement_seconds",
               "Time from sending a query or a batch to PostgreSQL to its end.",
               &WorkloadTimes::statement},
};

struct DatabaseFamily {
    MetricType type;
    const char* name;
    const char* help;
    double (*value)(const DatabaseSnapshot&);
};

constexpr std::array kDatabases = {
    DatabaseFamily{MetricType::Gauge, "pgbulkhead_database_pool_size_limit",
                   "P: most backends of the entry.",
                   [](const DatabaseSnapshot& d) { return number(d.pool_size); }},
    DatabaseFamily{MetricType::Gauge, "pgbulkhead_database_waiting",
                   "Permit holders that wait for a backend now.",
                   [](const DatabaseSnapshot& d) { return number(d.waiting); }},
    DatabaseFamily{MetricType::Gauge, "pgbulkhead_database_reachable",
                   "1 unless the latest connection attempt failed.",
                   [](const DatabaseSnapshot& d) { return d.outage ? 0.0 : 1.0; }},
    DatabaseFamily{MetricType::Counter, "pgbulkhead_database_connects_total", "Backends opened.",
                   [](const DatabaseSnapshot& d) { return number(d.connects); }},
    DatabaseFamily{MetricType::Counter, "pgbulkhead_database_connect_failures_total",
                   "Attempts to open a backend that failed.",
                   [](const DatabaseSnapshot& d) { return number(d.connect_failures); }},
    DatabaseFamily{MetricType::Counter, "pgbulkhead_database_swaps_total",
                   "Idle backends closed to make room for another user's.",
                   [](const DatabaseSnapshot& d) { return number(d.swaps); }},
};

void add_workloads(Families& families, const std::vector<WorkloadSnapshot>& workloads) {
    for (const WorkloadFamily& row : kWorkloads) {
        MetricFamily& family = add_family(families, row.type, row.name, row.help);
        for (const WorkloadSnapshot& w : workloads) {
            add_value(family, row.value(w), {{"workload", w.name}});
        }
    }
    for (const WordFamily& row : kWords) {
        MetricFamily& family = add_family(families, row.type, row.name, row.help);
        for (const WorkloadSnapshot& w : workloads) {
            for (const WordCount& counted : w.*row.counts) {
                add_value(family, number(counted.count),
                          {{"workload", w.name}, {row.label, std::string(counted.word)}});
            }
        }
    }
    for (const TimeFamily& row : kTimes) {
        MetricFamily& family = add_family(families, MetricType::Histogram, row.name, row.help);
        for (const WorkloadSnapshot& w : workloads) {
            add_histogram(family, w.times.*row.histogram, {{"workload", w.name}});
        }
    }
}

// Only of entries that have one.
void add_samplers(Families& families, const std::vector<DatabaseSnapshot>& databases) {
    MetricFamily works{"pgbulkhead_database_lock_sampler_up",
                       "1 while the entry's lock sampler does its work.",
                       MetricType::Gauge,
                       {}};
    MetricFamily failures{"pgbulkhead_database_lock_sampler_failures_total",
                          "Attempts of the lock sampler to connect or to look that failed.",
                          MetricType::Counter,
                          {}};
    for (const DatabaseSnapshot& d : databases) {
        if (!d.sampler) continue;
        add_value(works, d.sampler->working ? 1 : 0, {{"database", d.name}});
        add_value(failures, number(d.sampler->failures), {{"database", d.name}});
    }
    if (works.metric.empty()) return;
    families.push_back(std::move(works));
    families.push_back(std::move(failures));
}

void add_databases(Families& families, const std::vector<DatabaseSnapshot>& databases) {
    for (const DatabaseFamily& row : kDatabases) {
        MetricFamily& family = add_family(families, row.type, row.name, row.help);
        for (const DatabaseSnapshot& d : databases) {
            add_value(family, row.value(d), {{"database", d.name}});
        }
    }
    add_samplers(families, databases);
    MetricFamily& backends = add_family(families, MetricType::Gauge, "pgbulkhead_database_backends",
                                        "Backends of the entry now, by state.");
    for (const DatabaseSnapshot& d : databases) {
        for (const WordCount& state : d.backends) {
            add_value(backends, number(state.count),
                      {{"database", d.name}, {"state", std::string(state.word)}});
        }
    }
}

}  // namespace

Families make_families(const Snapshot& snapshot) {
    Families families;
    add_process_families(families, snapshot);
    add_workloads(families, snapshot.workloads);
    add_databases(families, snapshot.databases);
    return families;
}

}  // namespace pgb

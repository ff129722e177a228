#pragma once

#include <prometheus/metric_family.h>

#include <utility>
#include <vector>

#include "proxy/metrics/snapshot.h"

/// Between the parts of families.h: a snapshot as prometheus-cpp's plain structs, and what makes them.
namespace pgb {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using Families = std::vector<MetricFamily>;

/// A snapshot's families, each once, with all of its series.
[[nodiscard]] Families make_families(const Snapshot& snapshot);

/// Those that stand for the process and not for a workload or database.
void add_process_families(Families& families, const Snapshot& snapshot);

// A count above 2^53 loses its last digits here; that many transactions take centuries.
template <typename Count>
double number(Count count) {
    return static_cast<double>(count);
}

inline MetricFamily& add_family(Families& families, MetricType type, const char* name,
                                const char* help) {
    MetricFamily& family = families.emplace_back();
    family.name = name;
    family.help = help;
    family.type = type;
    return family;
}

inline void add_value(MetricFamily& family, double value, Labels labels = {}) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    if (family.type == MetricType::Counter) {
        metric.counter.value = value;
    } else {
        metric.gauge.value = value;
    }
}

}  // namespace pgb

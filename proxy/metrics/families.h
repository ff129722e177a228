#pragma once

#include <string>

#include "proxy/metrics/snapshot.h"

namespace pgb {

/// The Content-Type of what render_prometheus() returns.
inline constexpr const char* kPrometheusContentType = "text/plain; version=0.0.4; charset=utf-8";

/// The snapshot in Prometheus' text format 0.0.4. Every family has its help and carries its unit
/// in its name; label values come from the configuration file or are words of ours, never a
/// client's.
std::string render_prometheus(const Snapshot& snapshot);

/// The Content-Type of what render_open_metrics() returns.
inline constexpr const char* kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The same in OpenMetrics 1.0: https://prometheus.io/docs/specs/om/open_metrics_spec/. Samples have
/// the same names as in the other format. Counters have no `_created`: they begin with the process.
std::string render_open_metrics(const Snapshot& snapshot);

}  // namespace pgb

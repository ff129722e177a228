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

}  // namespace pgb

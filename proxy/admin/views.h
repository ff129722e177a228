#pragma once

#include <string>
#include <string_view>

#include "proxy/base/http_answer.h"
#include "proxy/base/instant.h"
#include "proxy/metrics/snapshot.h"

namespace pgb {

/// The three things that probes may ask for, from a snapshot that is `age` old:
///
///   /healthz  200 while the event loop turns; 503 when the snapshot is older than kStuckAfter,
///             so that a process whose loop hangs is restarted. Says nothing about PostgreSQL.
///   /readyz   200, or 503 with the reason as a word of Readiness; below it a line for each database
///             that cannot be reached (since when, and what its latest attempt said) and each
///             workload that is overloaded. A full budget is ready; a loop that hangs is not.
///   /metrics  OpenMetrics where `accept`, the request's header, asks for it; else Prometheus text.
///
/// Anything else is a 404. `path` is without its query. Pure, and safe to call on any thread.
HttpAnswer answer_probe(std::string_view path, const Snapshot& snapshot, Duration age,
                        std::string_view accept = {});

/// No turn of the loop and no reset of a timer takes this long; a guess, far above a bad second.
inline constexpr Duration kStuckAfter = std::chrono::seconds(10);

}  // namespace pgb

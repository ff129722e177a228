#pragma once

#include <string_view>

namespace pgb {

/// Whether an `Accept` header (RFC 9110, 12.5.1) would rather have OpenMetrics 1.0 than Prometheus'
/// older text. It must be named: who takes anything, or says nothing, gets the older one. Pure; what
/// cannot be read is passed over.
[[nodiscard]] bool prefers_open_metrics(std::string_view accept);

}  // namespace pgb

#pragma once

#include <string>
#include <vector>

#include "proxy/cli/plan_servers.h"

namespace pgb {

/// The facts of the plan for a program: one JSON object, `good` and `servers`; names as they are, but
/// for bytes that are no UTF-8.
[[nodiscard]] std::string plan_json(const config::Config& config,
                                    const std::vector<ServerPlan>& plans);

}  // namespace pgb

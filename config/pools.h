#pragma once

#include <cstddef>
#include <vector>

#include "config/findings.h"
#include "config/model.h"

namespace pgb::config {

/// Indices of the entries of `databases` that transactions of the workload may use, as far as its
/// `match.database` tells.
[[nodiscard]] std::vector<std::size_t> usable_pools(const Config& config, const Workload& workload);

/// Budgets against pools: max_pinned, B and the sum of B against P, and the fleet's connections.
void validate_pools(const Config& config, Findings& findings);

}  // namespace pgb::config

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proxy/cli/plan_servers.h"

namespace pgb {

/// The plan for a person, at most 100 characters wide where the names allow it; names from outside
/// have nothing that a terminal would obey.
[[nodiscard]] std::string plan_text(const config::Config& config,
                                    const std::vector<ServerPlan>& plans);

/// "(3 + 1) × 26 + 10 = 114": of all that may run, or of those that always do.
[[nodiscard]] std::string sum_text(const config::ConnectionSum& sum, bool in_rollout);

/// "fits", "does not fit", "not known".
[[nodiscard]] std::string_view fit_word(config::Fit fit);

}  // namespace pgb

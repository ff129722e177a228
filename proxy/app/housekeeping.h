#pragma once

#include "config/model.h"

namespace pgb {

/// The lane of housekeeping as one more workload, which no rule leads to: what a lease, a refusal and
/// the books of orphans ask of one.
[[nodiscard]] config::Workload housekeeping_workload(const config::Config& config);

}  // namespace pgb

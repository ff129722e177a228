#pragma once

#include <ostream>

#include "config/options.h"
#include "config/yaml.h"

namespace pgb {

/// `pgbulkhead check`: the effective configuration on `out` (secrets masked) and exit code 0, or
/// every complaint on `err` and exit code 2. Warnings go to `err` and do not fail.
int check(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
          std::ostream& err);

}  // namespace pgb

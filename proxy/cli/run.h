#pragma once

#include <ostream>

#include "config/options.h"
#include "config/yaml.h"

namespace pgb {

/// `pgbulkhead run`: serves until SIGTERM (running transactions finish) or SIGINT (at once). Exit
/// code 0 after either, 1 when an address could not be opened, 2 for a wrong configuration, whose
/// complaints go to `err`.
int run(const config::Options& options, const config::EnvLookup& env, std::ostream& err);

}  // namespace pgb

#pragma once

#include <ostream>

#include "config/options.h"
#include "config/yaml.h"

namespace pgb {

/// `pgbulkhead explain`: which workload a transaction would belong to, and of each rule before it the
/// condition that does not hold, on `out`, with exit code 0. A wrong file, a listener that is not in
/// it or a client that is no address: complaints on `err` and exit code 2. Connects to nothing.
int explain(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
            std::ostream& err);

}  // namespace pgb

#pragma once

#include <ostream>

#include "config/options.h"
#include "config/yaml.h"

namespace pgb {

/// `pgbulkhead plan`: the connections that the file's instances may open, against what each server
/// takes, on `out`. Exit code 0: all of it fits. 1: something does not, or nobody knows: a server could
/// not be asked, or `--offline` and no `fleet.database_connections`. 2: the file is wrong.
int plan(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
         std::ostream& err);

}  // namespace pgb

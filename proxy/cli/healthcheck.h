#pragma once

#include <ostream>
#include <string>

#include "config/model.h"
#include "config/options.h"
#include "config/yaml.h"
#include "proxy/base/result.h"

namespace pgb {

/// `pgbulkhead healthcheck`: one line and exit code 0 on `out` when the running proxy answers its probe
/// with 200, else the reason in one line on `err` and 1. A file that cannot be used is told as `check`
/// tells it, with 2. Waits a few seconds at most.
int healthcheck(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
                std::ostream& err);

/// Where the proxy with this configuration is asked from its own machine: `admin.probes` if there is one,
/// else `admin.http`, by loopback where it listens on every address. An error when neither can be asked.
[[nodiscard]] Result<std::string> health_url(const config::Admin& admin);

}  // namespace pgb

#pragma once

#include <optional>
#include <ostream>

#include "config/model.h"
#include "config/options.h"
#include "config/yaml.h"

namespace pgb {

/// The configuration that a command works with: of the file that was named, else the embedded one.
/// Complaints and warnings go to `err`; none: it is wrong.
[[nodiscard]] std::optional<config::Config> load_config(const config::Options& options,
                                                        const config::EnvLookup& env,
                                                        std::ostream& err);

}  // namespace pgb

#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "proxy/base/instant.h"
#include "proxy/base/result.h"
#include "tests/support/load/load_client.h"
#include "tests/support/load/script.h"
#include "tests/support/load/target.h"

namespace pgb::load {

/// One run of pgb_load, as its command line describes it.
struct RunOptions {
    Target target;
    std::size_t clients = 10;
    double seconds = 10;
    double warmup_seconds = 0;  ///< run before the counts start
    double ramp_seconds = 0;    ///< the clients' logins are spread over it
    Script script;
    Behaviour behaviour;
    std::uint64_t seed = 1;
    bool progress = false;
    std::string label = "load";

    std::string sample_sql;  ///< empty: no sampler
    Target sample_target;
    double sample_every_ms = 10;
};

/// Runs it; the value is what the JSON line shows. An error when the sampler can't work.
Result<nlohmann::json> run_load(const RunOptions& options);

/// Room for that many descriptors; raises the soft limit of this process up to the hard one.
void allow_descriptors(std::size_t count);

}  // namespace pgb::load

#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "proxy/base/instant.h"
#include "tests/support/load/histogram.h"

namespace pgb::load {

/// What came of all attempts of all clients. A refusal is an error whose HINT carries `reason=`;
/// every other ErrorResponse is an error by its SQLSTATE.
struct Tally {
    std::uint64_t ok = 0;
    std::uint64_t refused = 0;
    std::uint64_t errors = 0;
    std::uint64_t gave_up = 0;
    std::uint64_t missed = 0;  ///< Open loop: came while the client was busy.
    /// Logged-in connections that the peer ended.
    std::uint64_t connections_lost = 0;
    std::uint64_t logins = 0;
    std::uint64_t logins_refused = 0;

    std::map<std::string, std::uint64_t> refused_by;         ///< "40001 queue_full" -> count
    std::map<std::string, std::uint64_t> errors_by;          ///< SQLSTATE -> count
    std::map<std::string, std::uint64_t> logins_refused_by;  ///< SQLSTATE or the system's words

    Histogram ok_latency;       ///< of the attempt that succeeded, from its first byte sent
    Histogram ok_with_retries;  ///< from the first attempt at that transaction
    Histogram refused_latency;
    Histogram login_refused_latency;  ///< from connect to the refusal

    /// Clients that never had a transaction succeed, and the fewest and most that one had.
    std::uint64_t clients_never_served = 0;
    std::uint64_t client_ok_min = 0;
    std::uint64_t client_ok_max = 0;
};

nlohmann::json to_json(const Tally& tally, Duration elapsed);

}  // namespace pgb::load

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/base/instant.h"
#include "proxy/gate/shed_reason.h"

namespace pgb {

/// A refusal as the driver knows it when it happens: why, and the numbers that DETAIL shows.
struct ShedFacts {
    ShedReason reason = ShedReason::queue_full;
    std::string_view workload;  ///< lives as long as the configuration
    std::string_view sqlstate;  ///< the workload's
    Duration retry_after{0};    ///< an estimate with jitter, capped
    Duration waited{0};
    std::uint32_t running = 0;
    std::uint32_t limit = 0;
    std::uint32_t waiting = 0;
    std::uint32_t queue = 0;
    std::string cause;  ///< backend_down: PostgreSQL's or the network's own words; else empty
};

/// Appends the ErrorResponse of a refusal: severity ERROR, the contract in HINT, the numbers in
/// DETAIL. pin_limit is 54000 whatever the workload says: a retry would not help.
void append_refusal(std::string& out, const ShedFacts& facts);

/// The backend can't be had for good: PostgreSQL's own SQLSTATE and words, as an ERROR.
void append_backend_unavailable(std::string& out, std::string_view sqlstate,
                                std::string_view message);

}  // namespace pgb

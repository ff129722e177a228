#pragma once

#include <cstdint>

#include "proxy/base/instant.h"

namespace pgb {

/// What one lane may do at once.
struct LaneBudget {
    std::uint32_t concurrency = 1;  ///< B: permits out at once. 0 grants nothing.
    std::uint32_t queue = 0;        ///< Q: further transactions that may wait for a permit.
    Duration queue_wait{0};         ///< Longest wait for a permit; 0: never wait.

    bool operator==(const LaneBudget&) const = default;
};

}  // namespace pgb

#pragma once

#include <array>
#include <cstdint>

#include "proxy/gate/shed_reason.h"

namespace pgb {

/// The books of one lane. Gauges are for people: the gate decides by `running` and `waiting`, and
/// nothing else may.
///
/// What always holds (checked by tests after every call):
///   arrived  = admitted + waiting + sum(shed_arrivals) + cancelled_while_queued + left_while_queued
///   admitted = running + permits given back
///   admitted >= sum(shed_holders): such a transaction had a permit, gave it back, and did no work.
/// So what a client saw refused for a reason is `shed(reason)`, and the transactions that passed
/// for good are admitted - sum(shed_holders).
struct LaneStats {
    using ByReason = std::array<std::uint64_t, kShedReasons.size()>;

    std::uint32_t running = 0;       ///< Permits out now.
    std::uint32_t waiting = 0;       ///< Places of the queue taken now.
    std::uint32_t peak_running = 0;  ///< The most permits that were ever out at once.
    std::uint32_t peak_waiting = 0;  ///< The most queue places that were ever taken at once.

    std::uint64_t arrived = 0;                 ///< Transactions that asked for a permit.
    std::uint64_t admitted = 0;                ///< Permits granted, at once or after a wait.
    std::uint64_t cancelled_while_queued = 0;  ///< Left the queue by a CancelRequest.
    std::uint64_t left_while_queued = 0;       ///< Left the queue because the client went away.
    std::uint64_t admitted_after_wait = 0;     ///< Those of `admitted` that had to queue.
    ByReason shed_arrivals{};                  ///< Refused without ever holding a permit.
    ByReason shed_holders{};                   ///< Refused while holding one, before any work.

    bool operator==(const LaneStats&) const = default;

    /// All refusals for one reason, as a client would count them.
    [[nodiscard]] std::uint64_t shed(ShedReason reason) const {
        return shed_arrivals[index_of(reason)] + shed_holders[index_of(reason)];
    }
};

}  // namespace pgb

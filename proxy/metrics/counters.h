#pragma once

#include <cstdint>

#include "proxy/metrics/histogram.h"

namespace pgb {

/// What the driver notes about one workload besides the gate's own books.
struct WorkloadTimes {
    /// From arrival to the permit, of every admitted transaction; zero for those admitted at once.
    Histogram gate_wait;
    /// From the permit to a backend, of every admitted transaction that got one or timed out.
    Histogram pool_wait;
    /// From the grant to the moment the permit was given back.
    Histogram permit_hold;
    /// From arrival to the end of the transaction, of every transaction that got a backend.
    Histogram transaction;
};

/// What the process counts over its life, whatever the workload. All of them only grow.
struct Totals {
    std::uint64_t clients_accepted = 0;  ///< Connections accepted on any listener.
    std::uint64_t clients_refused = 0;   ///< Those turned away at max_clients or max_startup.
    std::uint64_t auth_failures = 0;     ///< Startups that ended before the session was ready.
    std::uint64_t cancel_requests = 0;   ///< CancelRequests received, with a right key or not.
    std::uint64_t backend_cancels_failed = 0;  ///< Sent to a backend, and not acted on for sure.
    std::uint64_t statements_prepared = 0;     ///< Made on a backend for sessions that had them.
    std::uint64_t statements_evicted = 0;      ///< Closed on a backend that had too many.
    std::uint64_t bytes_from_clients = 0;
    std::uint64_t bytes_to_clients = 0;
    std::uint64_t bytes_from_backends = 0;
    std::uint64_t bytes_to_backends = 0;
};

}  // namespace pgb

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
    /// From the moment a Query or a batch was sent to PostgreSQL, or its turn came behind others of
    /// its session, to its ReadyForQuery.
    Histogram statement;
    /// Transactions ended on a backend because their deadline had passed.
    std::uint64_t deadline_cancelled = 0;
    /// Tags that should tell a deadline and tell no number.
    std::uint64_t deadline_tags_ignored = 0;
};

/// The permit holders of one workload as a lock sampler saw them. The times are sums over all looks,
/// each of which counts for the time since the one before it.
struct SampledHolders {
    std::uint32_t waiting_for_lock = 0;
    std::uint32_t idle_in_transaction = 0;
    double lock_wait_seconds = 0;
    double idle_in_transaction_seconds = 0;

    SampledHolders& operator+=(const SampledHolders& other) {
        waiting_for_lock += other.waiting_for_lock;
        idle_in_transaction += other.idle_in_transaction;
        lock_wait_seconds += other.lock_wait_seconds;
        idle_in_transaction_seconds += other.idle_in_transaction_seconds;
        return *this;
    }
};

/// What the process counts over its life, whatever the workload. All of them only grow.
struct Totals {
    std::uint64_t clients_accepted = 0;  ///< Connections accepted on any listener.
    std::uint64_t clients_refused = 0;   ///< Those turned away at max_clients or max_startup.
    std::uint64_t auth_failures = 0;     ///< Startups that ended before the session was ready.
    std::uint64_t tls_handshakes = 0;    ///< Of clients, that succeeded.
    std::uint64_t tls_handshake_failures =
        0;                              ///< Those that did not; a client that just goes is none.
    std::uint64_t cancel_requests = 0;  ///< CancelRequests received, with a right key or not.
    std::uint64_t backend_cancels_failed = 0;  ///< Sent to a backend, and not acted on for sure.
    std::uint64_t statements_prepared = 0;     ///< Made on a backend for sessions that had them.
    std::uint64_t statements_evicted = 0;      ///< Closed on a backend that had too many.
    std::uint64_t bytes_from_clients = 0;
    std::uint64_t bytes_to_clients = 0;
    std::uint64_t bytes_from_backends = 0;
    std::uint64_t bytes_to_backends = 0;
};

/// How the configuration file was last taken, and how it compares with what is in force.
struct ReloadFigures {
    bool last_succeeded = true;
    double last_success_seconds = 0;  ///< When, in seconds of Unix time; at first the start.
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint32_t restart_needed = 0;  ///< What the file says and only a restart puts in force.
    std::uint32_t live_changes = 0;    ///< Keys of workloads that were changed past the file.
};

}  // namespace pgb

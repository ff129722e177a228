#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/model.h"

/// The arithmetic of connections and budgets, from plain values: what the instances of a file may
/// open, what of it a limit takes, and which number to change where it does not fit. Reading the
/// file judges with it (pools.h) and so does `pgbulkhead plan`, which has asked the servers.
namespace pgb::config {

/// What all instances together may open against one limit, beside what others open.
///
///     (instances + surge) × each + others
struct ConnectionSum {
    std::uint64_t instances = 1;
    std::uint64_t surge = 0;   ///< further instances while a rollout runs
    std::uint64_t each = 0;    ///< connections of one instance
    std::uint64_t others = 0;  ///< connections that are not of these instances

    [[nodiscard]] std::uint64_t at_rest() const { return instances * each + others; }
    [[nodiscard]] std::uint64_t in_rollout() const { return (instances + surge) * each + others; }
};

/// What one instance may open for one entry of `databases`.
struct EntryConnections {
    std::size_t entry = 0;  ///< index in `databases`
    std::uint64_t pool = 0;
    std::uint64_t sampler = 0;  ///< The lock sampler's own connection is outside of the pool.
    /// So are logins that prove a password (`passthrough`), until the pool takes them in; as many
    /// run at once as `max_connecting` says.
    std::uint64_t proving = 0;

    [[nodiscard]] std::uint64_t all() const { return pool + sampler + proving; }
};

[[nodiscard]] EntryConnections connections_of(const Config& config, std::size_t entry);

/// Of the entries with these indices, against `fleet`.
[[nodiscard]] ConnectionSum fleet_sum(const Config& config,
                                      const std::vector<std::size_t>& entries);

/// Backends of an entry that its workloads can use: one is set aside for housekeeping.
[[nodiscard]] std::uint64_t for_workloads(const DatabaseEntry& entry);

/// A workload's budget against one pool that it may use.
struct WorkloadShare {
    std::size_t workload = 0;    ///< index in `workloads`
    std::uint64_t permits = 0;   ///< B
    std::uint64_t queue = 0;     ///< Q
    std::uint64_t backends = 0;  ///< what its pools have for workloads, all of them together
    std::uint64_t share = 0;     ///< of this pool: beyond it only while nobody else waits
    [[nodiscard]] bool is_over_pool() const { return permits > backends; }
};

struct PoolShares {
    std::uint64_t backends = 0;  ///< what is there for workloads
    /// The sum of B over all workloads, as the pool divides: it does not know who can use it.
    std::uint64_t permits = 0;
    std::vector<WorkloadShare> workloads;  ///< those that can use the pool, in file order

    [[nodiscard]] bool is_shared_out() const { return permits > backends; }
};

[[nodiscard]] PoolShares shares_of(const Config& config, std::size_t entry);

/// One number to change; each alone makes the sum fit.
struct Remedy {
    std::string what;  ///< a key of the file, or what PostgreSQL calls it
    bool is_at_least = false;
    std::uint64_t value = 0;

    bool operator==(const Remedy&) const = default;
};

enum class Fit : std::uint8_t { fits, does_not_fit, not_known };

/// A limit of connections, and who shall live with it.
struct Limit {
    std::optional<std::uint64_t> most;  ///< none: not known
    ConnectionSum sum;
    /// Whose pools are in `sum.each`, for the remedies; indices in `databases`.
    std::vector<std::size_t> entries;
    /// What PostgreSQL calls the limit, and what it keeps for others of that; empty: the limit is not
    /// PostgreSQL's.
    std::string name = {};
    std::uint64_t kept_back = 0;

    [[nodiscard]] Fit fit() const;
};

/// Of a limit that does not fit, in the order: pools, instances, surge, others, the limit itself. A
/// number that would have to be less than it can be is not proposed.
[[nodiscard]] std::vector<Remedy> remedies(const Config& config, const Limit& limit);

}  // namespace pgb::config

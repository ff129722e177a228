#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/pool/backend_state.h"

namespace pgb {

/// One lost backend whose permit and place are still held.
struct Orphan {
    BackendId backend;
    WorkloadIndex workload = 0;
    Instant until;
};

/// The lost backends of one pool: each holds the permit of its transaction and its place in P until
/// PostgreSQL is known to have ended it, or its hold has passed. The driver keeps the permits
/// themselves, by BackendId. Bounded by P, as an orphan keeps its place.
class Orphans {
public:
    explicit Orphans(std::size_t workload_count) : counts_(workload_count) {}

    /// There are more workloads now.
    void set_workload_count(std::size_t count) { counts_.resize(count); }

    /// `until`: when the hold passes.
    void add(BackendId backend, WorkloadIndex workload, Instant until);
    /// PostgreSQL no longer has it: the permit may go. False if the hold has passed before.
    bool remove(BackendId backend);
    /// Takes out those whose hold has passed, the oldest first. Giving up their permits may admit
    /// more than B: the driver logs each.
    void expire(Instant now, std::vector<Orphan>& out);

    [[nodiscard]] Instant next_deadline() const;
    [[nodiscard]] std::size_t size() const { return orphans_.size(); }
    [[nodiscard]] std::uint32_t count(WorkloadIndex workload) const;

private:
    std::vector<Orphan> orphans_;  // in the order of add(); there are few
    std::vector<std::uint32_t> counts_;
};

}  // namespace pgb

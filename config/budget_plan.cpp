#include "config/budget_plan.h"

#include <algorithm>
#include <limits>

#include "config/pools.h"

namespace pgb::config {

namespace {

bool has_passthrough(const Config& config) {
    return std::any_of(config.listen.begin(), config.listen.end(), [](const Listener& door) {
        return door.auth.method == AuthMethod::passthrough;
    });
}

std::string pool_size_of(const DatabaseEntry& entry) {
    return "databases.\"" + entry.name + "\".pool_size";
}

/// Of one entry alone, and of all together where there are several.
void propose_pools(const Config& config, const Limit& limit, std::uint64_t each_most,
                   std::vector<Remedy>& out) {
    const std::uint64_t less = limit.sum.each - each_most;
    std::uint64_t pools = 0;
    for (const std::size_t i : limit.entries) {
        const DatabaseEntry& entry = config.databases[i];
        pools += entry.pool_size;
        if (entry.pool_size > less)
            out.push_back({pool_size_of(entry), false, entry.pool_size - less});
    }
    if (limit.entries.size() > 1 && pools >= less + limit.entries.size()) {
        out.push_back({"the sum of their pool_size", false, pools - less});
    }
}

}  // namespace

EntryConnections connections_of(const Config& config, std::size_t entry) {
    const DatabaseEntry& of = config.databases[entry];
    return {.entry = entry,
            .pool = of.pool_size,
            .sampler = of.lock_sampler.conninfo ? 1U : 0U,
            .proving = has_passthrough(config) ? of.max_connecting : 0};
}

ConnectionSum fleet_sum(const Config& config, const std::vector<std::size_t>& entries) {
    ConnectionSum sum{.instances = config.fleet.instances,
                      .surge = config.fleet.surge,
                      .each = 0,
                      .others = config.fleet.other_connections};
    for (const std::size_t i : entries) sum.each += connections_of(config, i).all();
    return sum;
}

std::uint64_t for_workloads(const DatabaseEntry& entry) {
    return entry.pool_size > 1 ? entry.pool_size - 1 : entry.pool_size;
}

PoolShares shares_of(const Config& config, std::size_t entry) {
    PoolShares shares;
    shares.backends = for_workloads(config.databases[entry]);
    for (const Workload& workload : config.workloads) shares.permits += workload.concurrency;
    for (std::size_t i = 0; i < config.workloads.size(); ++i) {
        const Workload& workload = config.workloads[i];
        const std::vector<std::size_t> pools = usable_pools(config, workload);
        if (std::find(pools.begin(), pools.end(), entry) == pools.end()) continue;
        std::uint64_t backends = 0;
        for (const std::size_t pool : pools) backends += for_workloads(config.databases[pool]);
        const std::uint64_t share =
            shares.is_shared_out() ? std::max<std::uint64_t>(
                                         1, shares.backends * workload.concurrency / shares.permits)
                                   : std::min(shares.backends, workload.concurrency);
        shares.workloads.push_back({i, workload.concurrency, workload.queue, backends, share});
    }
    return shares;
}

Fit Limit::fit() const {
    if (!most) return Fit::not_known;
    return sum.in_rollout() <= *most ? Fit::fits : Fit::does_not_fit;
}

std::vector<Remedy> remedies(const Config& config, const Limit& limit) {
    std::vector<Remedy> out;
    if (limit.fit() != Fit::does_not_fit) return out;
    const ConnectionSum& sum = limit.sum;
    // What is left for the instances; nothing of theirs helps when the others alone are too many.
    const std::uint64_t room = *limit.most - std::min(*limit.most, sum.others);
    const std::uint64_t count = sum.instances + sum.surge;
    propose_pools(config, limit, room / count, out);
    const std::uint64_t count_most =
        sum.each > 0 ? room / sum.each : std::numeric_limits<std::uint64_t>::max();
    if (count_most > sum.surge && sum.each > 0) {
        out.push_back({"fleet.instances", false, count_most - sum.surge});
    }
    if (sum.surge > 0 && count_most >= sum.instances && sum.each > 0) {
        out.push_back({"fleet.surge", false, count_most - sum.instances});
    }
    const std::uint64_t ours = count * sum.each;
    if (sum.others > 0 && ours <= *limit.most) {
        out.push_back({"the connections of others", false, *limit.most - ours});
    }
    const std::string& name = limit.name.empty() ? "fleet.database_connections" : limit.name;
    out.push_back({name, true, sum.in_rollout() + limit.kept_back});
    return out;
}

}  // namespace pgb::config

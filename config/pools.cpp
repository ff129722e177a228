#include "config/pools.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

#include "config/budget_plan.h"
#include "config/classify.h"
#include "config/codes.h"
#include "config/validate.h"

namespace pgb::config {
namespace {

bool has_wildcard(const std::string& pattern) {
    return pattern.find_first_of("*?[\\") != std::string::npos;
}

std::string path_of(const char* list, std::size_t index, const char* key) {
    return std::string(list) + "[" + std::to_string(index) + "]." + key;
}

std::optional<std::uint64_t> smallest_pool(const Config& config, const Workload& workload) {
    std::optional<std::uint64_t> smallest;
    for (std::size_t i : usable_pools(config, workload)) {
        const std::uint64_t size = config.databases[i].pool_size;
        smallest = std::min(smallest.value_or(size), size);
    }
    return smallest;
}

/// Whether what decides on a workload's pools was read without a mistake.
bool pools_known(const Config& config, const Findings& findings, std::size_t workload) {
    bool known = findings.usable("databases") &&
                 findings.usable(path_of("workloads", workload, "match.database"));
    for (std::size_t i = 0; i < config.databases.size(); ++i) {
        known = known && findings.usable(path_of("databases", i, "pool_size")) &&
                findings.usable(path_of("databases", i, "name"));
    }
    return known;
}

void validate_workload(const Config& config, std::size_t index, Findings& findings) {
    const Workload& workload = config.workloads[index];
    if (!pools_known(config, findings, index)) return;
    const std::vector<std::size_t> pools = usable_pools(config, workload);
    if (pools.empty()) {
        findings.warn(path_of("workloads", index, "match.database"),
                      {code::kNoDatabase, "no entry of `databases` serves this workload", ""});
        return;
    }
    const std::string pins = path_of("workloads", index, "max_pinned");
    const std::uint64_t smallest = smallest_pool(config, workload).value_or(1);
    if (findings.usable(pins) && workload.max_pinned > smallest - 1) {
        findings.add(
            pins,
            {code::kPins,
             "`workloads.max_pinned`: must leave a backend of each pool unpinned: at "
             "most " +
                 std::to_string(smallest - 1) + " with a pool_size of " + std::to_string(smallest),
             ""});
    }
    std::uint64_t backends = 0;
    for (std::size_t i : pools) backends += for_workloads(config.databases[i]);
    const std::string budget = path_of("workloads", index, "concurrency");
    if (findings.usable(budget) && workload.concurrency > backends) {
        findings.warn(budget, {code::kBudgetOverPool,
                               "a concurrency of " + std::to_string(workload.concurrency) +
                                   " is more than the " + std::to_string(backends) +
                                   " backends that this workload can use",
                               ""});
    }
}

/// Permits of the workloads that can use no pool but this one. Workloads that spread over several
/// pools are left out: how they spread is not known from the file.
void validate_pool(const Config& config, std::size_t index, Findings& findings) {
    const DatabaseEntry& entry = config.databases[index];
    std::uint64_t permits = 0;
    std::size_t workload_count = 0;
    for (std::size_t i = 0; i < config.workloads.size(); ++i) {
        const std::string budget = path_of("workloads", i, "concurrency");
        if (!findings.usable(budget) || !pools_known(config, findings, i)) return;
        if (usable_pools(config, config.workloads[i]) != std::vector<std::size_t>{index}) continue;
        // A single workload above the pool has a warning of its own.
        if (config.workloads[i].concurrency > for_workloads(entry)) return;
        permits += config.workloads[i].concurrency;
        ++workload_count;
    }
    if (permits <= for_workloads(entry)) return;
    findings.warn(path_of("databases", index, "pool_size"),
                  {code::kSumOverPool,
                   "the " + std::to_string(workload_count) + " workloads that use only this pool " +
                       "have " + std::to_string(permits) + " permits together for " +
                       std::to_string(for_workloads(entry)) +
                       " backends, one being set aside for housekeeping",
                   ""});
}

/// Whether all numbers of the fleet's sum were read without a mistake.
bool fleet_known(const Config& config, const Findings& findings) {
    bool known = findings.usable("auth.method");
    for (const char* key : {"instances", "surge", "other_connections", "database_connections"}) {
        known = known && findings.usable(std::string("fleet.") + key);
    }
    for (std::size_t i = 0; i < config.databases.size(); ++i) {
        known = known && findings.usable(path_of("databases", i, "pool_size")) &&
                findings.usable(path_of("databases", i, "max_connecting"));
    }
    for (std::size_t i = 0; i < config.listen.size(); ++i) {
        known = known && findings.usable(path_of("listen", i, "auth.method"));
    }
    return known;
}

void validate_fleet(const Config& config, Findings& findings) {
    const Fleet& fleet = config.fleet;
    if (!fleet.database_connections || !fleet_known(config, findings)) return;
    std::vector<std::size_t> entries(config.databases.size());
    std::iota(entries.begin(), entries.end(), std::size_t{0});
    // Which server an entry is for is libpq's to say, so that all of them count as one here.
    const Limit limit{fleet.database_connections, fleet_sum(config, entries), entries};
    if (limit.fit() == Fit::fits) return;
    const Severity severity =
        fleet.on_excess == OnExcess::refuse ? Severity::error : Severity::warning;
    findings.add("fleet.database_connections",
                 {code::kFleet,
                  std::to_string(limit.sum.instances + limit.sum.surge) + " instances of " +
                      std::to_string(limit.sum.each) + " connections and " +
                      std::to_string(limit.sum.others) + " others are " +
                      std::to_string(limit.sum.in_rollout()) + ", more than the " +
                      std::to_string(*fleet.database_connections) + " that the database takes",
                  ""},
                 severity);
}

}  // namespace

std::vector<std::size_t> usable_pools(const Config& config, const Workload& workload) {
    const std::optional<std::string>& pattern = workload.match.database;
    const std::optional<Glob> glob = pattern ? Glob::compile(*pattern) : std::nullopt;
    std::vector<std::size_t> result;
    std::optional<std::size_t> any;
    for (std::size_t i = 0; i < config.databases.size(); ++i) {
        const std::string& name = config.databases[i].name;
        if (name == "*") {
            any = i;
        } else if (!glob || glob->matches(name)) {
            result.push_back(i);
        }
    }
    // A plain name with an entry of its own never reaches "*".
    const bool exact = pattern && !has_wildcard(*pattern) && !result.empty();
    if (any && !exact) result.push_back(*any);
    return result;
}

void complete(Config& config, const Findings& findings) {
    for (std::size_t i = 0; i < config.workloads.size(); ++i) {
        Workload& workload = config.workloads[i];
        if (findings.given(path_of("workloads", i, "max_pinned"))) continue;
        workload.max_pinned = smallest_pool(config, workload).value_or(1) - 1;
    }
}

void validate_pools(const Config& config, Findings& findings) {
    for (std::size_t i = 0; i < config.workloads.size(); ++i) {
        validate_workload(config, i, findings);
    }
    for (std::size_t i = 0; i < config.databases.size(); ++i) validate_pool(config, i, findings);
    validate_fleet(config, findings);
}

}  // namespace pgb::config

#include "config/budget_plan.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

Config config_of(const std::string& text) {
    Loaded loaded = load(text);
    REQUIRE(loaded.config.has_value());
    return *loaded.config;
}

Config pools(const std::string& databases, const std::string& fleet) {
    return config_of(std::string(kSmallest) + "databases: {" + databases + "}\nfleet: {" + fleet +
                     "}\n");
}

/// Of all entries against `most`, or against what the file says.
Limit limit_of(const Config& config, std::optional<std::uint64_t> most = std::nullopt) {
    Limit limit;
    for (std::size_t i = 0; i < config.databases.size(); ++i) limit.entries.push_back(i);
    limit.sum = fleet_sum(config, limit.entries);
    limit.most = most ? most : config.fleet.database_connections;
    return limit;
}

std::string said(const Config& config, const Limit& limit) {
    std::string lines;
    for (const Remedy& remedy : remedies(config, limit)) {
        lines += remedy.what + (remedy.is_at_least ? " >= " : " <= ") +
                 std::to_string(remedy.value) + "\n";
    }
    return lines;
}

constexpr const char* kOnePool = "\"*\": {pool_size: 25, lock_sampler: {conninfo: x}}";

}  // namespace

TEST_CASE(
    "budget plan: an instance opens its pools, a sampler for each, and what passthrough proves") {
    const std::string databases =
        "databases:\n  a: {pool_size: 7, lock_sampler: {conninfo: x}}\n"
        "  b: {pool_size: 5, max_connecting: 3}\n";
    const Config quiet = config_of(std::string(kSmallest) + databases);
    CHECK(connections_of(quiet, 0).all() == 8);
    CHECK(connections_of(quiet, 1).all() == 5);
    CHECK(fleet_sum(quiet, {0, 1}).each == 13);
    const Config proving =
        config_of(std::string(kSmallest) + databases + "auth: {method: passthrough}\n");
    CHECK(connections_of(proving, 0).proving == 2);
    CHECK(connections_of(proving, 1).all() == 8);
    // One door that proves is enough: every door leads to every entry.
    const Config one_door =
        config_of(std::string(kSmallest) + databases +
                  "listen: [{name: a, unix_socket_dir: /tmp}, {name: b, address: "
                  "127.0.0.1, port: 7, auth: {method: passthrough}}]\n");
    CHECK(fleet_sum(one_door, {0, 1}).each == 18);
}

TEST_CASE("budget plan: the sum at rest and while a rollout runs") {
    struct Row {
        ConnectionSum sum;
        std::uint64_t at_rest;
        std::uint64_t in_rollout;
    };
    for (const Row& row :
         {Row{{1, 0, 24, 0}, 24, 24}, Row{{3, 1, 26, 10}, 88, 114}, Row{{3, 0, 0, 10}, 10, 10},
          Row{{100000, 100000, 262144, 262143}, 26214662143, 52429062143}}) {
        CHECK(row.sum.at_rest() == row.at_rest);
        CHECK(row.sum.in_rollout() == row.in_rollout);
    }
}

TEST_CASE("budget plan: what fits has no remedy, and the last connection still fits") {
    const Config config = pools(kOnePool, "instances: 3, surge: 1, other_connections: 10");
    CHECK(limit_of(config, 114).fit() == Fit::fits);
    CHECK(remedies(config, limit_of(config, 114)).empty());
    CHECK(limit_of(config, 113).fit() == Fit::does_not_fit);
    CHECK(limit_of(config).fit() == Fit::not_known);
    CHECK(remedies(config, limit_of(config)).empty());
}

TEST_CASE("budget plan: each remedy names a number to change and its last good value") {
    const Config config = pools(kOnePool, "instances: 3, surge: 1, other_connections: 10");
    CHECK(said(config, limit_of(config, 97)) ==
          "databases.\"*\".pool_size <= 20\n"
          "fleet.instances <= 2\n"
          "fleet.surge <= 0\n"
          "fleet.database_connections >= 114\n");
    Limit live = limit_of(config, 97);
    live.name = "max_connections";
    live.kept_back = 3;
    CHECK(remedies(config, live).back() == Remedy{"max_connections", true, 117});
    // A tight limit leaves less to choose from.
    CHECK(said(config, limit_of(config, 113)) ==
          "databases.\"*\".pool_size <= 24\n"
          "fleet.instances <= 2\n"
          "fleet.surge <= 0\n"
          "the connections of others <= 9\n"
          "fleet.database_connections >= 114\n");
    CHECK(said(config, limit_of(config, 5)) == "fleet.database_connections >= 114\n");
}

TEST_CASE("budget plan: of several pools each alone, or all of them together") {
    const Config config =
        pools("a: {pool_size: 10}, b: {pool_size: 40}", "instances: 2, database_connections: 70");
    CHECK(said(config, limit_of(config)) ==
          "databases.\"b\".pool_size <= 25\n"
          "the sum of their pool_size <= 35\n"
          "fleet.instances <= 1\n"
          "fleet.database_connections >= 100\n");
}

TEST_CASE("budget plan: every proposed number fits, and the next does not") {
    const auto fleet = [](std::uint64_t instances, std::uint64_t surge, std::uint64_t others) {
        return "instances: " + std::to_string(instances) + ", surge: " + std::to_string(surge) +
               ", other_connections: " + std::to_string(others);
    };
    std::size_t tried = 0;
    for (std::uint64_t most = 1; most < 140; most += 3) {
        const Config config = pools("a: {pool_size: 9}, b: {pool_size: 21}", fleet(3, 1, 10));
        for (const Remedy& remedy : remedies(config, limit_of(config, most))) {
            for (const std::uint64_t beyond : {0UL, 1UL}) {
                Config changed = config;
                Limit limit = limit_of(config, most);
                const std::uint64_t value =
                    remedy.is_at_least ? remedy.value - beyond : remedy.value + beyond;
                if (remedy.what == "databases.\"a\".pool_size")
                    changed.databases[0].pool_size = value;
                if (remedy.what == "databases.\"b\".pool_size")
                    changed.databases[1].pool_size = value;
                if (remedy.what == "the sum of their pool_size") {
                    changed.databases[0].pool_size = 1;
                    changed.databases[1].pool_size = value - 1;
                }
                if (remedy.what == "fleet.instances") changed.fleet.instances = value;
                if (remedy.what == "fleet.surge") changed.fleet.surge = value;
                if (remedy.what == "the connections of others")
                    changed.fleet.other_connections = value;
                const bool is_limit = remedy.what == "fleet.database_connections";
                const Limit after = limit_of(changed, is_limit ? value : most);
                INFO(remedy.what << " = " << value << " of " << most);
                CHECK((after.fit() == Fit::fits) == (beyond == 0));
                ++tried;
            }
        }
    }
    CHECK(tried > 100);
}

TEST_CASE("budget plan: B and Q against the pool, and the shares when permits are more") {
    const Config config = config_of(
        "databases:\n  \"*\": {pool_size: 13}\n  shop: {pool_size: 5}\n"
        "workloads:\n"
        "  - {name: reports, concurrency: 1, match: {database: shop}}\n"
        "  - {name: wide, concurrency: 30, queue: 4, queue_wait: 1s}\n"
        "  - {name: default, concurrency: 17}\n");
    const PoolShares any = shares_of(config, 0);
    CHECK(any.backends == 12);
    CHECK(any.permits == 48);
    CHECK(any.is_shared_out());
    REQUIRE(any.workloads.size() == 2);
    CHECK(any.workloads[0].workload == 1);
    CHECK(any.workloads[0].queue == 4);
    CHECK(any.workloads[0].share == 7);
    CHECK(any.workloads[0].backends == 16);
    CHECK(any.workloads[0].is_over_pool());
    CHECK(any.workloads[1].share == 4);
    CHECK(any.workloads[1].is_over_pool());
    const PoolShares shop = shares_of(config, 1);
    REQUIRE(shop.workloads.size() == 3);
    CHECK(shop.workloads[0].share == 1);
    CHECK_FALSE(shop.workloads[0].is_over_pool());
}

TEST_CASE("budget plan: where all permits have a backend the share is what the workload can use") {
    const Config config =
        config_of("databases: {\"*\": {pool_size: 1}}\n" + std::string(kSmallest));
    CHECK(shares_of(config, 0).backends == 1);
    CHECK(shares_of(config, 0).workloads[0].share == 1);
    const Config roomy =
        config_of("databases: {\"*\": {pool_size: 20}}\n" + std::string(kSmallest));
    CHECK_FALSE(shares_of(roomy, 0).is_shared_out());
    CHECK(shares_of(roomy, 0).workloads[0].share == 8);
}

}  // namespace pgb::config::test

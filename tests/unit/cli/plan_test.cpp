#include <string>
#include <utility>
#include <vector>

#include "proxy/cli/plan_json.h"
#include "proxy/cli/plan_servers.h"
#include "proxy/cli/plan_text.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

Config config_of(const std::string& databases, const std::string& fleet = "") {
    Loaded loaded =
        load(std::string(kSmallest) + "databases: {" + databases + "}\nfleet: {" + fleet + "}\n");
    REQUIRE(loaded.config.has_value());
    return *loaded.config;
}

ServerAnswers answers(std::uint64_t max_connections) {
    ServerAnswers said;
    said.version = "16.4";
    said.max_connections = max_connections;
    said.superuser_reserved = 3;
    said.reserved = 2;
    said.sees_all = true;
    return said;
}

ServerPlan plan_of(const Config& config, ServerAnswers said) {
    AskedServer server{"db:5432", {}, std::move(said), {}};
    for (std::size_t i = 0; i < config.databases.size(); ++i) server.entries.push_back(i);
    return plan_server(config, std::move(server));
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

constexpr const char* kRollout = "instances: 3, surge: 1, other_connections: 10";
constexpr const char* kAnyUser = "\"*\": {pool_size: 25, lock_sampler: {conninfo: user=watch}}";
constexpr const char* kOneUser = "\"*\": {conninfo: user=app, pool_size: 25}";

}  // namespace

TEST_CASE("plan: a server takes max_connections less what it keeps for others") {
    const Config config = config_of(kAnyUser, kRollout);
    CHECK(plan_of(config, answers(119)).is_good());
    const ServerPlan tight = plan_of(config, answers(118));
    CHECK(tight.fit() == Fit::does_not_fit);
    CHECK(tight.limits[0].remedies.back() == Remedy{"max_connections", true, 119});
    const std::string text = plan_text(config, {tight});
    CHECK(has(text, "server db:5432, PostgreSQL 16.4: does not fit\n"));
    CHECK(has(text, "always: 3 × 26 + 10 = 88 of 113: fits\n"));
    CHECK(has(text, "while a rollout runs: (3 + 1) × 26 + 10 = 114 of 113: does not fit\n"));
    CHECK(has(text, "databases.\"*\".pool_size to at most 24\n"));
    CHECK(has(text, "max_connections to at least 119\n"));
}

TEST_CASE("plan: without a surge there is one line, and it is the verdict") {
    const Config config = config_of(kOneUser, "instances: 2");
    const std::string text = plan_text(config, {plan_of(config, answers(54))});
    CHECK(has(text, "always: 2 × 25 = 50 of 49: does not fit\n"));
    CHECK_FALSE(has(text, "rollout"));
}

TEST_CASE("plan: the lesser of the file's number and the server's counts, and the other is told") {
    const Config more = config_of(kOneUser, "database_connections: 200");
    const ServerPlan by_server = plan_of(more, answers(105));
    CHECK(by_server.limits[0].limit.most == 100U);
    REQUIRE(by_server.notes.size() == 1);
    CHECK(by_server.notes[0] == "fleet.database_connections is 200, and PostgreSQL takes 100");
    const Config less = config_of(kOneUser, "database_connections: 30, instances: 2");
    const ServerPlan by_file = plan_of(less, answers(105));
    CHECK(by_file.limits[0].limit.most == 30U);
    CHECK(by_file.limits[0].remedies.back() == Remedy{"fleet.database_connections", true, 50});
}

TEST_CASE("plan: others count as the file says, or as many as are surely open") {
    // All are open that we may have, so that the rest is somebody else's whoever it is.
    ServerAnswers said = answers(1000);
    said.use = {{"app", "shop", "web", 120}};
    Config config = config_of(kAnyUser, "instances: 3, surge: 1, other_connections: 10");
    CHECK(plan_of(config, said).limits[0].limit.sum.others == 16);
    said.use[0].count = 114;
    CHECK(plan_of(config, said).limits[0].limit.sum.others == 10);
    // With one user for all that is ours, everybody else is told by the name.
    said.use = {{"app", "shop", "web", 20}, {"backup", "shop", "", 11}, {"", "", "x", 1}};
    config = config_of(kOneUser, "other_connections: 10");
    const ServerPlan plan = plan_of(config, said);
    CHECK(plan.limits[0].limit.sum.others == 12);
    REQUIRE(plan.notes.size() == 1);
    CHECK(has(plan.notes[0], "at least 12 connections of others are open"));
}

TEST_CASE("plan: a role's limit counts the pools and samplers that log in as it") {
    ServerAnswers said = answers(1000);
    said.roles = {{"app", 50}, {"nobody", 0}, {"watch", 3}};
    const Config config = config_of(
        "a: {conninfo: user=app, pool_size: 10}, b: {conninfo: user=app, pool_size: 4, "
        "lock_sampler: "
        "{conninfo: user=watch}}, c: {conninfo: user=other, pool_size: 90}",
        "instances: 3, surge: 1");
    const ServerPlan plan = plan_of(config, said);
    REQUIRE(plan.limits.size() == 3);
    CHECK(plan.limits[1].name == "app");
    CHECK(plan.limits[1].limit.sum.in_rollout() == 56);
    CHECK(plan.limits[1].limit.fit() == Fit::does_not_fit);
    CHECK(plan.limits[1].remedies.back() ==
          Remedy{"the connection limit of role \"app\"", true, 56});
    CHECK(plan.limits[2].name == "watch");
    CHECK(plan.limits[2].limit.sum.in_rollout() == 4);
    CHECK(plan.fit() == Fit::does_not_fit);
    const std::string text = plan_text(config, {plan});
    CHECK(has(text, "role \"app\", always: 3 × 14 = 42 of 50: fits\n"));
    CHECK(has(text, "role \"app\", while a rollout runs: (3 + 1) × 14 = 56 of 50: does not fit\n"));
    CHECK(plan.notes.empty());
}

TEST_CASE("plan: a database's limit counts the entries that lead to it") {
    ServerAnswers said = answers(1000);
    said.databases = {{"real", 9}, {"shop", 30}};
    const Config config = config_of(
        "shop: {pool_size: 10}, alias: {conninfo: dbname=real, pool_size: 10}, other: {pool_size: "
        "5}");
    const ServerPlan plan = plan_of(config, said);
    REQUIRE(plan.limits.size() == 3);
    CHECK(plan.limits[1].name == "real");
    CHECK(plan.limits[1].limit.fit() == Fit::does_not_fit);
    CHECK(plan.limits[2].limit.fit() == Fit::fits);
}

TEST_CASE("plan: limits of names that clients choose are told and not judged") {
    ServerAnswers said = answers(1000);
    said.roles = {{"lonely", 1}, {"roomy", 500}};
    said.databases = {{"small", 2}};
    const ServerPlan plan = plan_of(config_of(kAnyUser), said);
    CHECK(plan.is_good());
    REQUIRE(plan.notes.size() == 2);
    CHECK(plan.notes[0] ==
          "role \"lonely\" may have 1 connections, and its clients could be given up to 25");
    CHECK(has(plan.notes[1], "database \"small\" may have 2 connections"));
    said.roles.assign(1000, {"many", 1});
    CHECK(plan_of(config_of(kAnyUser), said).notes.size() == 11);
}

TEST_CASE("plan: a server that was not asked is judged by the file, or not at all") {
    const Config silent = config_of(kOneUser);
    const ServerPlan unknown = plan_server(silent, {"db:5432", {0}, {}, {}});
    CHECK(unknown.fit() == Fit::not_known);
    CHECK_FALSE(unknown.is_good());
    CHECK(has(plan_text(silent, {unknown}), "always: 1 × 25 = 25 of ?: not known\n"));
    const Config told = config_of(kOneUser, "database_connections: 97");
    CHECK(plan_server(told, {"db:5432", {0}, {}, {}}).is_good());
    const ServerPlan down = plan_server(told, {"db:5432", {0}, {}, "connection refused"});
    CHECK_FALSE(down.is_good());
    const std::string text = plan_text(told, {down});
    CHECK(has(text, "server db:5432: fits, by the file alone\n"));
    CHECK(has(text, "could not be asked: connection refused\n"));
}

TEST_CASE("plan: names from outside have nothing that a terminal would obey, and JSON keeps them") {
    ServerAnswers said = answers(1000);
    said.use = {{"a\x1b[2J", "d\n", "\xff", 1}};
    const Config config = config_of(kAnyUser);
    const ServerPlan plan = plan_of(config, said);
    CHECK_FALSE(has(plan_text(config, {plan}), "\x1b"));
    const std::string json = plan_json(config, {plan});
    CHECK(has(json, R"("role": "a\u001b[2J")"));
    CHECK(has(json, "\"good\": true"));
}

TEST_CASE("plan: the table of workloads says who has more permits than backends") {
    Loaded loaded = load(
        "databases: {\"*\": {pool_size: 5}}\nworkloads:\n"
        "  - {name: big, concurrency: 6, match: {user: x}}\n"
        "  - {name: default, concurrency: 2, queue: 9, queue_wait: 1s}\n");
    REQUIRE(loaded.config.has_value());
    const std::string text = plan_text(*loaded.config, {plan_of(*loaded.config, answers(100))});
    CHECK(has(text, "pool \"*\": 4 backends for workloads, 8 permits: backends are shared out"));
    CHECK(
        has(text, "big       enforce  6  0      3  B is more than the backends that it can use\n"));
    CHECK(has(text, "default   enforce  2  9      1\n"));
}

}  // namespace pgb::config::test

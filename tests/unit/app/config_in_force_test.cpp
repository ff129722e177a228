#include "proxy/app/config_in_force.h"

#include <optional>
#include <string>
#include <string_view>

#include "config/yaml.h"
#include "tests/support/catch.h"

using namespace pgb;

namespace {

config::Config load(std::string_view text) {
    const auto no_variables = [](std::string_view) -> std::optional<std::string> { return {}; };
    config::Loaded loaded = config::load_text(text, "f", no_variables);
    REQUIRE(loaded.config);
    return *loaded.config;
}

config::Subject named(std::string_view name) {
    config::Subject subject;
    subject.application_name = name;
    return subject;
}

constexpr std::string_view kFirst =
    "workloads:\n"
    "  - {name: a, match: {application_name: 'a*'}, concurrency: 1}\n"
    "  - {name: b, match: {application_name: 'b*'}, concurrency: 2}\n"
    "  - {name: default, concurrency: 3}\n";
constexpr std::string_view kWithoutA =
    "workloads:\n"
    "  - {name: c, match: {application_name: 'ab*'}, concurrency: 4}\n"
    "  - {name: b, match: {application_name: '*b*'}, concurrency: 5}\n"
    "  - {name: default, concurrency: 3}\n";

}  // namespace

TEST_CASE("in force: numbers stay with their workloads, whatever comes, goes and moves") {
    ConfigInForce config(load(kFirst));
    CHECK(config.workload_of(named("b")) == 1);
    config.apply(load(kWithoutA));
    const auto& workloads = config.values().workloads;
    // The fourth is the lane of housekeeping.
    REQUIRE(workloads.size() == 5);
    CHECK(config.housekeeping() == 3);
    CHECK(workloads[0].name == "a");
    CHECK(workloads[0].concurrency == 1);
    CHECK_FALSE(config.is_listed(0));
    CHECK(workloads[1].name == "b");
    CHECK(workloads[1].concurrency == 5);
    CHECK(workloads[4].name == "c");
    CHECK(config.is_listed(4));
    // The new one stands first in the file.
    CHECK(config.workload_of(named("ab")) == 4);
    CHECK(config.workload_of(named("bb")) == 1);
    CHECK(config.workload_of(named("a")) == 2);
}

TEST_CASE("in force: a workload that comes back is the same one, with its new values") {
    ConfigInForce config(load(kFirst));
    config.apply(load(kWithoutA));
    config.apply(
        load("workloads:\n"
             "  - {name: a, match: {application_name: a}, concurrency: 9,"
             " pooling: session}\n"
             "  - {name: default, concurrency: 3}\n"));
    CHECK(config.values().workloads.size() == 5);
    CHECK(config.workload_of(named("a")) == 0);
    CHECK(config.values().workloads[0].concurrency == 9);
    CHECK(config.values().workloads[0].pooling == config::Pooling::session);
    CHECK_FALSE(config.is_listed(1));
    CHECK_FALSE(config.is_listed(4));
}

TEST_CASE("in force: A, B, A ends where it began, and nothing is different then") {
    ConfigInForce config(load(kFirst));
    CHECK(config.apply(load(kFirst)).empty());
    CHECK_FALSE(config.apply(load(kWithoutA)).empty());
    config.apply(load(kFirst));
    CHECK(config.apply(load(kFirst)).empty());
    CHECK(config.generation() == 5);
    for (std::size_t i = 0; i < 3; ++i) CHECK(config.is_listed(i));
    CHECK_FALSE(config.is_listed(4));
    CHECK(config.workload_of(named("b")) == 1);
}

TEST_CASE("in force: candidates are of one pooling, and their choice is a number") {
    ConfigInForce config(load(kFirst));
    config.apply(
        load("workloads:\n"
             "  - {name: s, match: {application_name: a}, concurrency: 1,"
             " pooling: session}\n"
             "  - {name: b, match: {application_name: '*'}, concurrency: 1}\n"
             "  - {name: default, concurrency: 3}\n"));
    const auto of_transactions = config.candidates(named("a"), config::Pooling::transaction);
    const auto of_sessions = config.candidates(named("a"), config::Pooling::session);
    CHECK(config.choose(of_transactions, named("a")) == std::optional<std::size_t>(1));
    CHECK(config.choose(of_sessions, named("a")) == std::optional<std::size_t>(4));
    CHECK(config.choose(of_sessions, named("x")) == std::nullopt);
    CHECK(config.has_choice());
    config.apply(load("workloads: [{name: default, concurrency: 3}]\n"));
    CHECK_FALSE(config.has_choice());
    CHECK(config.workload_of(named("a")) == 2);
}

TEST_CASE("in force: entries of databases are changed where they stand") {
    ConfigInForce config(load("databases: {x: {pool_size: 4}}\n" + std::string(kFirst)));
    const config::DatabaseEntry& entry = config.values().databases[0];
    config.apply(
        load("databases: {x: {pool_size: 6, conninfo: host=y}, z: {}}\n" + std::string(kWithoutA)));
    CHECK(&entry == &config.values().databases[0]);
    CHECK(entry.pool_size == 6);
    CHECK(entry.conninfo.empty());
    CHECK(config.values().databases.size() == 1);
}

TEST_CASE("in force: there are numbers for some thousand workloads, not for ever more") {
    ConfigInForce config(load(kFirst));
    config::Config wanted = load(kFirst);
    const config::Workload one = wanted.workloads[0];
    while (wanted.workloads.size() < ConfigInForce::kWorkloadsMax) {
        wanted.workloads.insert(wanted.workloads.begin(), one);
        wanted.workloads.front().name = "w" + std::to_string(wanted.workloads.size());
    }
    CHECK(config.has_room_for(wanted));
    wanted.workloads.insert(wanted.workloads.begin(), one);
    wanted.workloads.front().name = "more";
    CHECK_FALSE(config.has_room_for(wanted));
}

#include "config/diff.h"

#include <string>
#include <string_view>
#include <vector>

#include "config/print.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

Config config_of(std::string_view text) {
    Loaded loaded = load(text);
    INFO(joined(complaint_lines(loaded)));
    REQUIRE(loaded.config);
    return *loaded.config;
}

std::vector<std::string> lines(const Difference& difference) {
    std::vector<std::string> texts;
    for (const Change& change : difference.changes) {
        texts.push_back((change.reload == Reload::live ? "live " : "restart ") + change.text());
    }
    return texts;
}

/// What changes between two files.
std::vector<std::string> lines(std::string_view before, std::string_view after) {
    return lines(diff(config_of(before), config_of(after)));
}

using Lines = std::vector<std::string>;

constexpr std::string_view kTwo =
    "workloads:\n"
    "  - {name: reports, match: {user: rita}, concurrency: 2, queue: 5, queue_wait: 1s}\n"
    "  - {name: default, concurrency: 8}\n";

}  // namespace

TEST_CASE("diff: the same file changes nothing") {
    const Config config = config_of(kTwo);
    const Difference difference = diff(config, config);
    CHECK(difference.changes.empty());
    CHECK(difference.in_force == config);
}

TEST_CASE("diff: live keys are told by path, old and new value, and are in force") {
    const Config wanted = config_of(
        "workloads:\n"
        "  - {name: reports, match: {user: 'r*'}, mode: shadow, concurrency: 3, queue: 5,"
        " queue_wait: 1500ms}\n"
        "  - {name: default, concurrency: 8}\n"
        "drain: {timeout: 5s}\n");
    const Difference difference = diff(config_of(kTwo), wanted);
    CHECK(lines(difference) == Lines{R"(live workloads[reports].match.user: "rita" -> "r*")",
                                     "live workloads[reports].mode: enforce -> shadow",
                                     "live workloads[reports].concurrency: 2 -> 3",
                                     "live workloads[reports].queue_wait: 1s -> 1500ms",
                                     "live drain.timeout: 25s -> 5s"});
    CHECK(difference.in_force == wanted);
}

TEST_CASE("diff: what needs a restart stays as it was, and is told again") {
    const Config before = config_of(kTwo);
    const Config wanted = config_of(
        "listen: [{name: app, address: 127.0.0.1, port: 7000},"
        " {name: local, unix_socket_dir: /tmp}]\n"
        "workloads:\n"
        "  - {name: reports, match: {user: rita}, concurrency: 2, queue: 6, queue_wait: 1s,"
        " pooling: session}\n"
        "  - {name: default, concurrency: 8}\n");
    const Difference first = diff(before, wanted);
    CHECK(lines(first) == Lines{"restart listen[app].port: 6432 -> 7000",
                                "live workloads[reports].queue: 5 -> 6",
                                "restart workloads[reports].pooling: transaction -> session"});
    Config expected = before;
    expected.workloads[0].queue = 6;
    CHECK(first.in_force == expected);
    CHECK(lines(diff(first.in_force, wanted)) ==
          Lines{"restart listen[app].port: 6432 -> 7000",
                "restart workloads[reports].pooling: transaction -> session"});
    CHECK(lines(diff(first.in_force, before)) == Lines{"live workloads[reports].queue: 6 -> 5"});
}

TEST_CASE("diff: workloads come, go and change places") {
    CHECK(lines(kTwo,
                "workloads:\n"
                "  - {name: batch, match: {user: ben}, concurrency: 1, queue: 2,"
                " queue_wait: 1s}\n"
                "  - {name: default, concurrency: 8}\n") ==
          Lines{R"(live workloads[reports]: {match.user: "rita", concurrency: 2, queue: 5, )"
                "queue_wait: 1s, max_pinned: 23} -> none",
                R"(live workloads[batch]: none -> {match.user: "ben", concurrency: 1, queue: 2, )"
                "queue_wait: 1s, max_pinned: 23}"});
    constexpr std::string_view kThree =
        "workloads: [{name: a, match: {user: a}, concurrency: 1}, "
        "{name: b, match: {user: b}, concurrency: 1}, {name: default, concurrency: 1}]\n";
    constexpr std::string_view kTurned =
        "workloads: [{name: b, match: {user: b}, concurrency: 1}, "
        "{name: a, match: {user: a}, concurrency: 1}, {name: default, concurrency: 1}]\n";
    CHECK(lines(kThree, kTurned) == Lines{"live workloads: [a, b, default] -> [b, a, default]"});
    const Config turned = config_of(kTurned);
    CHECK(diff(config_of(kThree), turned).in_force == turned);
}

TEST_CASE("diff: doors and databases stay, and what the file may change in them is changed") {
    const Config before = config_of(
        "databases: {a: {pool_size: 4}, b: {pool_size: 4}}\n"
        "workloads: [{name: default, concurrency: 1, max_pinned: 1}]\n");
    const Config wanted = config_of(
        "databases: {c: {pool_size: 4}, b: {pool_size: 6, conninfo: 'host=x'}}\n"
        "workloads: [{name: default, concurrency: 1, max_pinned: 1}]\n");
    const Difference difference = diff(before, wanted);
    CHECK(lines(difference) == Lines{"restart databases[a]: {pool_size: 4} -> none",
                                     "restart databases[c]: none -> {pool_size: 4}",
                                     R"(restart databases[b].conninfo: "" -> "host=x")",
                                     "live databases[b].pool_size: 4 -> 6"});
    Config expected = before;
    expected.databases[1].pool_size = 6;
    CHECK(difference.in_force == expected);
}

TEST_CASE("diff: passwords are masked, and that one has changed is told") {
    const auto file = [](std::string_view conninfo) {
        return "databases: {'*': {conninfo: '" + std::string(conninfo) + "'}}\n" +
               std::string(kSmallest);
    };
    const Lines changed =
        lines(file("host=a password=sesame"), file("host=a password=hodor user=bob"));
    REQUIRE(changed.size() == 1);
    CHECK(changed[0] == R"(restart databases[*].conninfo: "host=a password=***" -> )"
                        R"("host=a password=*** user=bob")");
    CHECK(lines(file("password=sesame"), file("password=hodor")) ==
          Lines{R"(restart databases[*].conninfo: "password=***" -> "password=***" )"
                "(another password)"});
    const Lines added = lines(
        kSmallest, "databases: {x: {conninfo: 'password=sesame'}}\n" + std::string(kSmallest));
    CHECK(joined(added).find("sesame") == std::string::npos);
}

TEST_CASE("diff: every key of the table is compared") {
    Config before =
        config_of("databases: {'*': {}}\nworkloads: [{name: default, concurrency: 8}]\n");
    Config wanted = before;
    std::size_t expected = 0;
    const auto change = [&](const Section& section, void* object) {
        for (const Key& key : section.keys) {
            if (key.name == "name") continue;
            const Slot slot = key.slot(object);
            if (auto* const* count = std::get_if<std::uint64_t*>(&slot)) {
                **count += 1;
            } else if (auto* const* text = std::get_if<std::string*>(&slot)) {
                **text += "x";
            } else if (auto* const* maybe = std::get_if<std::optional<std::string>*>(&slot)) {
                **maybe = "other";
            } else if (auto* const* time = std::get_if<Duration*>(&slot)) {
                **time += std::chrono::seconds(1);
            } else if (auto* const* flag = std::get_if<bool*>(&slot)) {
                **flag = !**flag;
            } else if (const auto* word = std::get_if<WordSlot>(&slot)) {
                *word->value = static_cast<unsigned char>(*word->value == 0 ? 1 : 0);
            } else {
                continue;
            }
            ++expected;
        }
    };
    change(database_section(), &wanted.databases[0]);
    change(workload_section(), &wanted.workloads[0]);
    change(top_section(), &wanted);
    const Difference difference = diff(before, wanted);
    CHECK(difference.changes.size() == expected);
    std::size_t restarts = 0;
    for (const Change& one : difference.changes) restarts += one.reload == Reload::restart ? 1 : 0;
    CHECK(diff(difference.in_force, wanted).changes.size() == restarts);
}

}  // namespace pgb::config::test

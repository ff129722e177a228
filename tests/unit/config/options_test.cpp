#include "config/options.h"

#include <string>
#include <variant>
#include <vector>

#include "tests/support/catch.h"

namespace pgb::config::test {
namespace {

std::variant<Options, Leave> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "pgbulkhead");
    return parse_options(static_cast<int>(arguments.size()), arguments.data(), "1.2.3");
}

}  // namespace

TEST_CASE("options: run and check with and without a file") {
    CHECK(std::get<Options>(parse({"run"})) == Options{Command::run, std::nullopt, false});
    CHECK(std::get<Options>(parse({"run", "-c", "f"})) == Options{Command::run, "f", false});
    CHECK_FALSE(std::get<Options>(parse({"run"})).allow_dumps);
    CHECK(std::get<Options>(parse({"run", "--allow-dumps"})).allow_dumps);
    CHECK(std::get<Options>(parse({"check", "--config", "f"})) ==
          Options{Command::check, "f", false});
    CHECK(std::get<Options>(parse({"check", "--keys"})) ==
          Options{Command::check, std::nullopt, true});
}

TEST_CASE("options: explain takes what is known of a transaction") {
    const auto options = std::get<Options>(parse(
        {"explain", "-c", "f", "--database", "d", "--user", "u", "--application-name", "a",
         "--client", "10.0.0.1", "--listener", "l", "--query", "select 1", "--workload", "w"}));
    CHECK(options.command == Command::explain);
    CHECK(options.file == "f");
    CHECK(options.explain == ExplainOptions{"d", "u", "a", "l", "10.0.0.1", "select 1", "w"});
    CHECK(std::get<Options>(parse({"explain"})).explain == ExplainOptions{});
}

TEST_CASE("options: healthcheck asks whom the file or the command line names, not both") {
    const auto by_url =
        std::get<Options>(parse({"healthcheck", "--url", "https://h:1", "--ca", "f", "--ready"}));
    CHECK(by_url.command == Command::healthcheck);
    CHECK(by_url.health == HealthOptions{"https://h:1", "f", true});
    const auto by_file = std::get<Options>(parse({"healthcheck", "-c", "f"}));
    CHECK(by_file.file == "f");
    CHECK(by_file.health == HealthOptions{});
    for (const std::vector<const char*>& wrong :
         {std::vector<const char*>{"healthcheck", "--url", "u", "-c", "f"},
          {"healthcheck", "--ca", "f"}}) {
        CHECK(std::get<Leave>(parse(wrong)).exit_code == kExitBadUsage);
    }
}

TEST_CASE("options: plan asks the servers and tells a person, unless told otherwise") {
    const auto plain = std::get<Options>(parse({"plan", "-c", "f"}));
    CHECK(plain.command == Command::plan);
    CHECK(plain.file == "f");
    CHECK(plain.plan == PlanOptions{false, false});
    CHECK(std::get<Options>(parse({"plan", "--json", "--offline"})).plan ==
          PlanOptions{true, true});
}

TEST_CASE("options: version and help leave with code 0 and say what they are asked") {
    const Leave version = std::get<Leave>(parse({"--version"}));
    CHECK(version.text == "pgbulkhead 1.2.3\n");
    CHECK(version.exit_code == kExitOk);
    for (const char* word : {"-h", "--help"}) {
        const Leave help = std::get<Leave>(parse({word}));
        CHECK(help.exit_code == kExitOk);
        CHECK(help.text.find("check") != std::string::npos);
    }
}

TEST_CASE("options: a wrong command line leaves with code 2 and words") {
    for (const std::vector<const char*>& wrong : {std::vector<const char*>{},
                                                  {"walk"},
                                                  {"run", "-c"},
                                                  {"run", "--keys"},
                                                  {"check", "--allow-dumps"},
                                                  {"run", "check"},
                                                  {"run", "file"},
                                                  {"check", "-c", "a", "-c", "b"}}) {
        const auto result = parse(wrong);
        REQUIRE(std::holds_alternative<Leave>(result));
        CHECK(std::get<Leave>(result).exit_code == kExitBadUsage);
        CHECK_FALSE(std::get<Leave>(result).text.empty());
    }
}

}  // namespace pgb::config::test

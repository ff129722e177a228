#include "config/values.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "config/environment.h"
#include "config/forms.h"
#include "config/network.h"
#include "config/suggest.h"
#include "config/units.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

std::string outcome(const Amount& amount) {
    if (const auto* value = std::get_if<std::uint64_t>(&amount)) return std::to_string(*value);
    const Problem& problem = std::get<Problem>(amount);
    std::string result(problem.code.substr(problem.code.size() - 3));
    if (!problem.suggestion.empty()) result += " " + problem.suggestion;
    return result;
}

std::string replaced(std::string_view text) {
    auto result = replace_variables(text, small_env);
    if (const auto* problem = std::get_if<Problem>(&result)) return "refused: " + problem->words;
    return std::get<std::string>(result);
}

std::string address(std::string_view text) {
    const auto parsed = parse_address(text);
    const auto* good = std::get_if<Address>(&parsed);
    return good != nullptr ? good->host + " " + std::to_string(good->port) : "refused";
}

struct Case {
    std::string_view text;
    std::string_view expected;
};

}  // namespace

TEST_CASE("values: durations") {
    const Case cases[] = {
        {"0", "0"},
        {"0s", "0"},
        {"250ms", "250000000"},
        {"1us", "1000"},
        {"2m", "120000000000"},
        {"1h", "3600000000000"},
        {"007s", "7000000000"},
        {"250", "013 250ms"},
        {"250 ms", "013 250ms"},
        {"5sec", "013 5s"},
        {"5minutes", "013 5m"},
        {"2d", "013 48h"},
        {"5ns", "013"},
        {"1.5s", "016"},
        {"-1s", "014"},
        {"", "012"},
        {"fast", "012"},
        {"+1s", "012"},
        {"1e3s", "013"},
        {"99999999999999999999s", "014"},
        {"18446744073709551615h", "014"},
    };
    for (const Case& c : cases) {
        INFO(c.text);
        CHECK(outcome(parse_duration(c.text)) == c.expected);
    }
}

TEST_CASE("values: sizes") {
    const Case cases[] = {
        {"0", "0"},
        {"12B", "12"},
        {"64KiB", "65536"},
        {"1MiB", "1048576"},
        {"2GiB", "2147483648"},
        {"1MB", "013 1MiB"},
        {"1k", "013 1KiB"},
        {"64 KiB", "013 64KiB"},
        {"64", "013 64B"},
        {"1.5MiB", "016"},
        {"MiB", "012"},
        {"-1B", "014"},
        {"18446744073709551615GiB", "014"},
    };
    for (const Case& c : cases) {
        INFO(c.text);
        CHECK(outcome(parse_size(c.text)) == c.expected);
    }
}

TEST_CASE("values: counts and permission bits") {
    CHECK(outcome(parse_count("16")) == "16");
    CHECK(outcome(parse_count("16.0")) == "012");
    CHECK(outcome(parse_count("0x10")) == "012");
    CHECK(outcome(parse_count("-1")) == "014");
    CHECK(outcome(parse_octal("0770")) == std::to_string(0770));
    CHECK(outcome(parse_octal("0780")) == "012");
    CHECK(outcome(parse_octal("")) == "012");
}

TEST_CASE("values: what is shown is read back as the same amount") {
    for (std::uint64_t value : {0ULL, 1000ULL, 1'500'000ULL, 250'000'000ULL, 60'000'000'000ULL,
                                90'000'000'000ULL, 7'200'000'000'000ULL}) {
        CHECK(outcome(parse_duration(show_duration(value))) == std::to_string(value));
    }
    for (std::uint64_t value : {0ULL, 1ULL, 1023ULL, 1024ULL, 1536ULL, 1048576ULL, 5368709120ULL}) {
        CHECK(outcome(parse_size(show_size(value))) == std::to_string(value));
    }
    CHECK(show_octal(0770) == "0770");
    CHECK(show_duration(90'000'000'000) == "90s");
}

TEST_CASE("values: variables") {
    const Case cases[] = {
        {"plain $ { } text", "plain $ { } text"},
        {"a${SET}b${SET}", "avaluebvalue"},
        {"${NOPE:-other}", "other"},
        {"${EMPTY:-other}", "other"},
        {"${EMPTY}", ""},
        {"${SET:-other}", "value"},
        {"${NOPE:-}", ""},
        {"$${SET}", "${SET}"},
        {"$$${SET}", "$${SET}"},
        {"${NOPE}", "refused: needs the environment variable `NOPE`, which is not set"},
        {"${}", "refused: has a malformed variable; write ${NAME} or ${NAME:-default}"},
        {"${SET", "refused: has a `${` without its `}`"},
    };
    for (const Case& c : cases) {
        INFO(c.text);
        CHECK(replaced(c.text) == c.expected);
    }
}

TEST_CASE("values: what a variable holds is not searched for variables and is no YAML") {
    const EnvLookup env = [](std::string_view) {
        return std::optional<std::string>("${SET}, x: 1");
    };
    const auto result = replace_variables("${ANY}", env);
    CHECK(std::get<std::string>(result) == "${SET}, x: 1");
    const Loaded loaded = load_text("workloads: [{name: \"${ANY}\", concurrency: 1}]", "f", env);
    REQUIRE(loaded.complaints.size() == 1);
    CHECK(loaded.complaints[0].code == "PGB-CFG-032");
}

TEST_CASE("values: networks") {
    for (std::string_view good : {"10.0.0.0/8", "1.2.3.4", "::/0", "2001:db8::/32", "::1",
                                  "fe80::1:2/64", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1/104"}) {
        INFO(good);
        CHECK(Network::parse(good).has_value());
    }
    for (std::string_view bad : {"",
                                 "10.0.0/8",
                                 "10.0.0.256",
                                 "10.0.0.0/33",
                                 "::/129",
                                 "1::2::3",
                                 ":1",
                                 "1:2:3:4:5:6:7:8:9",
                                 "host",
                                 "10.0.0.0/",
                                 "12345::",
                                 "1:2:3:4:5:6:7:8::",
                                 "1:",
                                 "::1:",
                                 "10.0.0.0.1",
                                 "10.0.0.",
                                 "1:2:3:4:5:6:7:1.2.3.4",
                                 "::1.2.3",
                                 "+1.2.3.4",
                                 "::-1",
                                 "1.2.3.4/-1"}) {
        INFO(bad);
        CHECK_FALSE(Network::parse(bad).has_value());
    }
}

TEST_CASE("values: an address is in a network by the network's bits alone") {
    const auto is_in = [](std::string_view network, std::string_view address) {
        return Network::parse(network)->contains(address);
    };
    CHECK(is_in("10.0.0.0/8", "10.255.0.1"));
    CHECK_FALSE(is_in("10.0.0.0/8", "11.0.0.1"));
    CHECK(is_in("10.1.2.3/8", "10.9.9.9"));
    CHECK(is_in("192.168.4.0/22", "192.168.7.255"));
    CHECK_FALSE(is_in("192.168.4.0/22", "192.168.8.0"));
    CHECK(is_in("1.2.3.4", "1.2.3.4"));
    CHECK_FALSE(is_in("1.2.3.4", "1.2.3.5"));
    CHECK(is_in("0.0.0.0/0", "9.9.9.9"));
    CHECK_FALSE(is_in("0.0.0.0/0", "2001:db8::1"));
    CHECK(is_in("10.0.0.0/8", "::ffff:10.0.0.1"));
    CHECK(is_in("2001:db8::/33", "2001:db8:7fff::1"));
    CHECK_FALSE(is_in("2001:db8::/33", "2001:db8:8000::1"));
    CHECK(is_in("::/0", "::1"));
    for (std::string_view none : {"", "unix", "/tmp", "10.0.0.1:5", "10.0.0"}) {
        INFO(none);
        CHECK_FALSE(is_in("0.0.0.0/0", none));
        CHECK_FALSE(is_in("::/0", none));
    }
}

TEST_CASE("values: addresses") {
    const Case cases[] = {
        {"127.0.0.1:9432", "127.0.0.1 9432"},
        {"[::1]:80", "::1 80"},
        {"name:0", "name 0"},
        {"127.0.0.1", "refused"},
        {":80", "refused"},
        {"::1:80", "refused"},
        {"a:65536", "refused"},
        {"a:", "refused"},
        {"[a]:80", "refused"},
        {"a b:80", "refused"},
        {"http://a:80", "refused"},
    };
    for (const Case& c : cases) {
        INFO(c.text);
        CHECK(address(c.text) == c.expected);
    }
}

TEST_CASE("values: only what no other machine can reach is loopback") {
    for (std::string_view good : {"127.0.0.1", "127.9.9.9", "::1", "localhost"})
        CHECK(is_loopback(good));
    for (std::string_view bad : {"0.0.0.0", "::", "10.0.0.1", "127.example.com", "128.0.0.1", ""}) {
        CHECK_FALSE(is_loopback(bad));
    }
}

TEST_CASE("values: a suggestion is what was nearly written, or nothing") {
    constexpr std::string_view kWords[] = {"queue", "queue_wait", "concurrency", "mode"};
    CHECK(suggest("quue", kWords) == "queue");
    CHECK(suggest("queue-wait", kWords) == "queue_wait");
    CHECK(suggest("queueWait", kWords) == "queue_wait");
    CHECK(suggest("cnocurrency", kWords) == "concurrency");
    CHECK(suggest("something", kWords).empty());
    CHECK(suggest("", kWords).empty());
    CHECK(suggest(std::string(1000, 'q'), kWords).empty());
}

TEST_CASE("values: texts are bounded and have no control characters") {
    CHECK_FALSE(judge_text(Form::plain, "x").has_value());
    CHECK(judge_text(Form::plain, "").has_value());
    CHECK_FALSE(judge_text(Form::conninfo, "").has_value());
    CHECK(judge_text(Form::conninfo, "a\nb").has_value());
    CHECK(judge_text(Form::plain, std::string(4097, 'x')).has_value());
    CHECK(judge_text(Form::name, std::string(64, 'x')).has_value());
    CHECK(judge_text(Form::glob, "a[").has_value());
}

}  // namespace pgb::config::test

#include "config/classify.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
    const std::optional<Glob> glob = Glob::compile(pattern);
    REQUIRE(glob.has_value());
    return glob->matches(text);
}

/// The textbook definition as a table, for patterns of literals, `*` and `?`: row[t] says whether
/// the pattern's rest matches the text from t on.
bool matches_slowly(std::string_view pattern, std::string_view text) {
    std::vector<bool> below(text.size() + 1, false);
    below[text.size()] = true;
    for (std::size_t p = pattern.size(); p-- > 0;) {
        std::vector<bool> row(text.size() + 1, false);
        row[text.size()] = pattern[p] == '*' && below[text.size()];
        for (std::size_t t = text.size(); t-- > 0;) {
            const bool fits = pattern[p] == '?' || pattern[p] == text[t];
            row[t] = pattern[p] == '*' ? below[t] || row[t + 1] : fits && below[t + 1];
        }
        below = row;
    }
    return below[0];
}

constexpr std::string_view kFile =
    "listen:\n"
    "  - {name: app, address: 127.0.0.1}\n"
    "  - {name: batch, address: 127.0.0.1, port: 6433}\n"
    "workloads:\n"
    "  - {name: reports, concurrency: 1, match: {database: shop, user: \"report_*\"}}\n"
    "  - {name: tools, concurrency: 1, match: {application_name: \"[mM]etabase*\"}}\n"
    "  - {name: night, concurrency: 1, match: {listener: batch}}\n"
    "  - {name: late, concurrency: 1, match: {user: \"report_*\"}}\n"
    "  - {name: default, concurrency: 1}\n";

}  // namespace

TEST_CASE("classify: globs") {
    struct Case {
        std::string_view pattern;
        std::string_view text;
        bool expected;
    };
    const Case cases[] = {
        {"", "", true},           {"", "a", false},       {"*", "", true},
        {"*", "abc", true},       {"a*", "abc", true},    {"a*", "ba", false},
        {"*c", "abc", true},      {"a*c", "abbc", true},  {"a*c", "abcd", false},
        {"a**c", "ac", true},     {"?", "", false},       {"?", "x", true},
        {"a?c", "abc", true},     {"[a-c]x", "bx", true}, {"[a-c]x", "dx", false},
        {"[!a-c]", "d", true},    {"[^a-c]", "b", false}, {"[]]", "]", true},
        {"[a-]", "-", true},      {"[\\]]", "]", true},   {"\\*", "*", true},
        {"\\*", "x", false},      {"A", "a", false},      {"*a*b*", "xaybz", true},
        {"*a*b*", "xbya", false}, {"*.*", "a.b", true},   {"[a]*[b]", "aab", true},
    };
    for (const Case& c : cases) {
        INFO(c.pattern << " on " << c.text);
        CHECK(matches(c.pattern, c.text) == c.expected);
    }
}

TEST_CASE("classify: malformed globs do not compile") {
    for (std::string_view bad : {"[", "a[b", "[]", "[z-a]", "\\", "a\\", "[a\\"}) {
        INFO(bad);
        CHECK_FALSE(Glob::compile(bad).has_value());
    }
}

TEST_CASE("classify: a glob agrees with the textbook on every short pattern and text") {
    constexpr std::string_view kAlphabet = "ab*?";
    for (unsigned p = 0; p < 1024; ++p) {
        std::string pattern;
        for (unsigned i = 0; i < 5; ++i) pattern += kAlphabet[(p >> (2 * i)) & 3U];
        for (unsigned t = 0; t < 64; ++t) {
            std::string text;
            for (unsigned i = 0; i < 6; ++i) text += kAlphabet[(t >> i) & 1U];
            for (std::size_t length = 3; length <= 6; ++length) {
                const auto cut = std::string_view(text).substr(0, length);
                if (matches(pattern, cut) != matches_slowly(pattern, cut)) {
                    FAIL(pattern << " on " << cut);
                }
            }
        }
    }
    SUCCEED();
}

TEST_CASE("classify: a pattern of many stars on a long text costs text times pattern, not more") {
    std::string pattern;
    for (int i = 0; i < 60; ++i) pattern += "*a";
    pattern += "*b";
    CHECK_FALSE(matches(pattern, std::string(10000, 'a')));
}

TEST_CASE("classify: the first rule in file order whose conditions all hold wins") {
    const Loaded loaded = load(kFile);
    REQUIRE(loaded.config.has_value());
    const Classifier classifier(*loaded.config);
    const auto name_of = [&](const Subject& subject) {
        return loaded.config->workloads[classifier.workload_of(subject)].name;
    };
    CHECK(name_of({"shop", "report_1", "", "app", ""}) == "reports");
    CHECK(name_of({"shop", "report_1", "metabase", "batch", ""}) == "reports");
    CHECK(name_of({"other", "report_1", "", "app", ""}) == "late");
    CHECK(name_of({"other", "report_1", "", "batch", ""}) == "night");
    CHECK(name_of({"other", "report_1", "Metabase v1", "batch", ""}) == "tools");
    CHECK(name_of({"shop", "x", "", "app", ""}) == "default");
    CHECK(name_of({"", "", "", "", ""}) == "default");
}

TEST_CASE("classify: a listener is matched by its exact name") {
    const Loaded loaded = load(kFile);
    REQUIRE(loaded.config.has_value());
    const Classifier classifier(*loaded.config);
    CHECK(classifier.workload_of({"", "", "", "batch", ""}) == 2);
    CHECK(classifier.workload_of({"", "", "", "batch2", ""}) == 4);
}

TEST_CASE("classify: a client is matched by the network of its address") {
    const Loaded loaded = load(
        "workloads:\n"
        "  - {name: office, match: {client: 10.1.0.0/16}, concurrency: 1}\n"
        "  - {name: inside, match: {client: 10.0.0.0/8, user: app}, concurrency: 1}\n"
        "  - {name: default, concurrency: 1}\n");
    REQUIRE(loaded.config.has_value());
    const Classifier classifier(*loaded.config);
    const auto of = [&](std::string_view user, std::string_view client) {
        return classifier.workload_of({"", user, "", "", client});
    };
    CHECK(of("app", "10.1.2.3") == 0);
    CHECK(of("app", "10.2.2.3") == 1);
    CHECK(of("other", "10.2.2.3") == 2);
    CHECK(of("app", "::1") == 2);
    CHECK(of("app", "") == 2);
}

}  // namespace pgb::config::test

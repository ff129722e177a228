// Rules that look at the statement: tags, patterns, and a workload chosen by name.

#include <string>
#include <string_view>
#include <variant>

#include "config/classify.h"
#include "config/pattern.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {

namespace {

constexpr std::string_view kFile =
    "workloads:\n"
    "  - {name: own, concurrency: 1, match: {user: boss, tag: {workload: own}}}\n"
    "  - {name: both, concurrency: 1, match: {tag: {workload: reports, team: web}}}\n"
    "  - {name: reports, concurrency: 1, match: {tag: {workload: reports}}}\n"
    "  - {name: scans, concurrency: 1, match: {query: \"(?is)^\\\\s*select.*from big\"}}\n"
    "  - {name: guarded, concurrency: 1, match: {query: big, application_name: tool}}\n"
    "  - {name: default, concurrency: 1}\n";

class Rules {
public:
    Rules() : loaded_(load(kFile)) { REQUIRE(loaded_.config.has_value()); }

    [[nodiscard]] std::string of(const Subject& subject) const {
        const Classifier classifier(*loaded_.config);
        const std::size_t found = classifier.workload_of(subject);
        for (std::size_t i = 0; i < found && subject.chosen.empty(); ++i) {
            CHECK(classifier.unmet(i, subject).has_value());
        }
        return loaded_.config->workloads[found].name;
    }
    [[nodiscard]] std::string of(std::string_view text, std::string_view user = "",
                                 std::string_view chosen = "", bool whole = true) const {
        return of(Subject{"", user, "", "", "", text, whole, chosen});
    }

private:
    Loaded loaded_;
};

}  // namespace

TEST_CASE("classify: every tag that a rule asks for must be there") {
    const Rules rules;
    CHECK(rules.of("select 1 /*workload='reports'*/") == "reports");
    CHECK(rules.of("/*workload='reports',team='web'*/ select 1") == "both");
    CHECK(rules.of("select 1 -- workload:reports,team:web") == "both");
    CHECK(rules.of("select 1 /*workload='Reports'*/") == "default");
    CHECK(rules.of("select 1 /*workload='own'*/") == "default");
    CHECK(rules.of("select 1 /*workload='own'*/", "boss") == "own");
    CHECK(rules.of("select 1") == "default");
    CHECK(rules.of("") == "default");
    CHECK(rules.of("select 1 /*workload='reports'*/", "", "", false) == "default");
}

TEST_CASE(
    "classify: a pattern may match anywhere in the text, and never a text that is not known") {
    const Rules rules;
    CHECK(rules.of("SELECT *\n FROM big WHERE true") == "scans");
    CHECK(rules.of("with x as (select 1 from big) select 2") == "default");
    CHECK(rules.of(Subject{"", "", "tool", "", "", "delete from big"}) == "guarded");
    const Loaded loaded = load(
        "workloads: [{name: a, concurrency: 1, match: {query: \"^\"}}, "
        "{name: default, concurrency: 1}]");
    REQUIRE(loaded.config.has_value());
    const Classifier classifier(*loaded.config);
    CHECK(classifier.workload_of(Subject{"", "", "", "", "", "x"}) == 0);
    CHECK(classifier.workload_of(Subject{"", "", "", "", ""}) == 1);
    CHECK(classifier.looks_at_text());
    CHECK_FALSE(classifier.looks_at_application_name());
}

TEST_CASE("classify: a name stands for the tag of its workload and for no other condition") {
    const Rules rules;
    CHECK(rules.of("select 1", "", "reports") == "reports");
    CHECK(rules.of("select 1", "boss", "own") == "own");
    CHECK(rules.of("select 1", "someone", "own") == "default");
    CHECK(rules.of("select 1", "", "scans") == "default");
    CHECK(rules.of("select 1 from big", "", "scans") == "scans");
    CHECK(rules.of("select 1 from big", "", "default") == "default");
    CHECK(rules.of("select 1 /*workload='reports'*/", "", "nosuch") == "reports");
}

TEST_CASE("classify: the candidates of a login are what its other conditions leave") {
    const Loaded loaded = load(kFile);
    REQUIRE(loaded.config.has_value());
    const Classifier classifier(*loaded.config);
    using Candidates = Classifier::Candidates;
    CHECK(classifier.candidates({"", "boss", "", "", ""}) == Candidates{0, 1, 2, 3, 4, 5});
    const Candidates others = classifier.candidates({"", "x", "", "", ""});
    CHECK(others == Candidates{1, 2, 3, 4, 5});
    CHECK(classifier.choose(others, {"", "", "", "", "", "select 1 /*workload='own'*/"}) == 5U);
    CHECK_FALSE(classifier.choose({0}, {"", "", "", "", "", "select 1"}).has_value());
}

TEST_CASE("pattern: a bad one is a complaint with its place") {
    const Loaded loaded = load(
        "workloads:\n"
        "  - name: a\n"
        "    concurrency: 1\n"
        "    match: {query: \"from (big\"}\n"
        "  - {name: default, concurrency: 1}\n");
    REQUIRE(loaded.complaints.size() == 1);
    const std::string words = loaded.complaints[0].text();
    INFO(words);
    CHECK(words.find(":4:20: PGB-CFG-016") != std::string::npos);
    CHECK(words.find("at byte") != std::string::npos);
    for (const std::string_view bad : {"(", "a)", "[z-a]", "*", "(?<x>a)\\1", "a{2000}"}) {
        INFO(bad);
        CHECK(std::holds_alternative<Pattern::Fault>(Pattern::compile(bad)));
    }
}

TEST_CASE("pattern: neither its size nor its text makes a match dear") {
    CHECK(std::holds_alternative<Pattern::Fault>(
        Pattern::compile(std::string(Pattern::kPatternMax + 1, 'a'))));
    CHECK(std::holds_alternative<Pattern::Fault>(Pattern::compile("((a{100}){100}){100}")));
    const auto compiled = Pattern::compile("(a*)*b|(a|aa)+$|(x+x+)+y");
    REQUIRE(std::holds_alternative<Pattern>(compiled));
    CHECK_FALSE(std::get<Pattern>(compiled).matches(std::string(1 << 20, 'a') + "c"));
}

}  // namespace pgb::config::test

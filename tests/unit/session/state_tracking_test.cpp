#include "proxy/session/state_tracking.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/support/postgres.h"
#include "tests/unit/session/left_behind.h"
#include "tests/unit/session/text_effect_cases.h"

namespace pgb::test {
namespace {

// What the text changes, as the statements that would change it again.
std::string followed(StateTracking& tracking, std::string_view text) {
    const TextEffect effect = tracking.effect_of(text, true);
    std::string all = effect.pins ? "pins " : "";
    if (!effect.settings) return all;
    for (const SettingChange& change : tracking.changes_of(text)) {
        switch (change.kind) {
            case SettingChange::Kind::set: all += change.text; break;
            case SettingChange::Kind::reset: all += "RESET " + change.name; break;
            case SettingChange::Kind::reset_all: all += "RESET ALL"; break;
            case SettingChange::Kind::discard_all: all += "DISCARD ALL"; break;
        }
        all += ';';
    }
    return all;
}

TEST_CASE("state tracking: each SET is followed by a statement that says the same and no more") {
    StateTracking tracking;
    const auto is = [&tracking](std::string_view text, const std::string& expected) {
        INFO(text);
        CHECK(followed(tracking, text) == expected);
    };
    is("set WORK_MEM = '2MB'", R"(SET "work_mem" TO '2MB';)");
    is("set search_path = a, \"B c\"", R"(SET "search_path" TO 'a', 'B c';)");
    is("set a.b = 'it''s; set role x'", R"(SET "a"."b" TO 'it''s; set role x';)");
    is("set a.b = E'\\\\''x'", R"(SET "a"."b" TO E'\\''x';)");
    is("set a.\"x\"\"y\" = 1", R"(SET "a"."x""y" TO 1;)");
    is("set lock_timeout = -1", R"(SET "lock_timeout" TO -1;)");
    is("set lock_timeout = 0; set seq_page_cost = -.5",
       R"(SET "lock_timeout" TO 0;SET "seq_page_cost" TO -.5;)");
    is("set time zone - 7", R"(SET "timezone" TO -7;)");
    is("set role none", R"(SET "role" TO 'none';)");
    is("set session authorization default", "RESET session_authorization;");
    is("set names", "RESET client_encoding;");
    is("set session characteristics as transaction read write, isolation level serializable",
       R"(SET "default_transaction_read_only" TO 'off';)"
       R"(SET "default_transaction_isolation" TO 'serializable';)");
    is("select set_config('A.b', 'x', false), set_config('c.d', 'y', true)",
       "SELECT pg_catalog.set_config('a.b', 'x', false);");
    is("reset all; discard all", "RESET ALL;DISCARD ALL;");
    is("set local work_mem = 1", "");
    is("select 1", "");
}

TEST_CASE("state tracking: what can't be said again pins") {
    StateTracking tracking;
    for (const std::string_view text :
         {"set time zone interval '1' hour", "set work_mem from current", "set seed = 0.5",
          "begin; set work_mem = 1; commit", "set application_name = 'a\\b'",
          "select set_config('a.b', 'x', false) where true",
          "select set_config('a.b', 'x', false) from t", "select set_config('a.b', x, false)",
          "select lower(set_config('a.b', 'x', false))", "select set_config('a.b', null, false)",
          "with x as (select set_config('a.b', 'x', false)) select 1",
          "set work_mem = 1; no such statement", "set transaction_isolation = 'serializable'"}) {
        INFO(text);
        CHECK(followed(tracking, text) == "pins ");
    }
    const std::string longer(StateTracking::kTextMax, 'x');
    CHECK(followed(tracking, "set application_name = '" + longer + "'") == "pins ");
    CHECK(tracking.effect_of("set application_name = 'x", false).pins);
}

TEST_CASE("state tracking: the grammar takes back what only looks like a call") {
    StateTracking tracking;
    for (const std::string_view text :
         {"with x (a) as (select 1) select * from x", "create index on t (a)",
          "select * from (select 1) v (a)",
          "create function f(a int) returns int language sql as ''", "drop function f(int)"}) {
        INFO(text);
        CHECK_FALSE(tracking.effect_of(text, true).resets);
    }
    for (const std::string_view text :
         {"select f(1)", "select \"LOWER\"('a')", "select other.lower('a')", "call f(1)", "do ''",
          "select 1 from t tablesample f(1)", "insert into t (a) values (f(1))", "execute p(1)",
          "create index on t (f(a))", "select 'a\\b'"}) {
        INFO(text);
        CHECK(tracking.effect_of(text, true).resets);
    }
}

TEST_CASE("state tracking: only statements that do nothing but undo are told as such") {
    StateTracking tracking;
    CHECK(tracking.effect_of("reset role", true).undoes_settings);
    CHECK(tracking.effect_of("/* c */ DISCARD ALL;", true).undoes_settings);
    CHECK(tracking.effect_of("set session authorization default", true).undoes_settings);
    CHECK_FALSE(tracking.effect_of("reset role; select 1", true).undoes_settings);
    CHECK_FALSE(tracking.effect_of("set role x", true).undoes_settings);
    CHECK_FALSE(tracking.effect_of("select 1", true).undoes_settings);
}

TEST_CASE("state tracking: the cache is bounded and harmless texts never reach it") {
    StateTracking tracking;
    (void)tracking.effect_of("select lower('a') from t where b = 'c'", true);
    CHECK(tracking.cached_count() == 0);
    for (std::size_t i = 0; i < 2 * StateTracking::kTextsMax; ++i) {
        const std::string text = "set a.b = '" + std::to_string(i) + "'";
        CHECK(tracking.effect_of(text, true).settings);
        CHECK(tracking.changes_of(text).size() == 1);
    }
    CHECK(tracking.cached_count() == StateTracking::kTextsMax);
    for (std::size_t i = 0; i < 400; ++i) {
        const std::string text = "set a.b = '" + std::string(8000, 'x') + std::to_string(i) + "'";
        (void)tracking.effect_of(text, true);
    }
    CHECK(tracking.cached_count() <= StateTracking::kBytesMax / 8000);
}

TEST_CASE("state tracking: what a real PostgreSQL still has is followed, pinned or reset") {
    LeftBehind server(TestPostgres::shared().unix_socket());
    StateTracking tracking;
    int left = 0;
    for (const EffectCase& example : kEffectCases) {
        const std::string found = server.after(std::string(example.text));
        const TextEffect effect = tracking.effect_of(example.text, true);
        INFO(example.text << "\n  left behind: " << found);
        if (found.empty()) continue;
        ++left;
        CHECK((effect.pins || effect.resets || effect.settings));
    }
    CHECK(left >= 60);
}

}  // namespace
}  // namespace pgb::test

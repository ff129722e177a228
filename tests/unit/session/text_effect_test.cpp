#include "proxy/session/text_effect.h"

#include <memory>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/postgres.h"
#include "tests/unit/session/left_behind.h"
#include "tests/unit/session/text_effect_cases.h"

namespace pgb::test {
namespace {

TEST_CASE("text effect: each text is judged as the table says") {
    for (const EffectCase& example : kEffectCases) {
        INFO(example.text);
        const TextEffect effect = effect_of(example.text, true);
        if (example.expected == Expected::pinned) CHECK(effect.pins);
        if (example.expected == Expected::reset) CHECK((effect.resets || effect.pins));
        if (example.expected == Expected::clean) {
            CHECK_FALSE(effect.pins);
            CHECK_FALSE(effect.resets);
        }
    }
}

TEST_CASE(
    "text effect: a text of which only the beginning was seen resets, whatever it begins with") {
    for (const EffectCase& example : kEffectCases) {
        INFO(example.text);
        const std::string_view half = example.text.substr(0, example.text.size() / 2);
        CHECK(effect_of(half, false).resets);
    }
}

TEST_CASE("text effect: no cut and no blanks around a text make it harmless") {
    for (const EffectCase& example : kEffectCases) {
        INFO(example.text);
        const TextEffect plain = effect_of(example.text, true);
        const std::string dressed =
            "/* c */ ; select 1;\n" + std::string(example.text) + "\n; -- c";
        const TextEffect effect = effect_of(dressed, true);
        CHECK(effect.pins == plain.pins);
        CHECK((effect.resets || !plain.resets));
    }
}

TEST_CASE("text effect: DISCARD ALL alone, and nothing else, says that all is discarded") {
    CHECK(effect_of("discard all", true).discards_all);
    CHECK(effect_of("/* c */ DISCARD ALL ; -- c", true).discards_all);
    CHECK_FALSE(effect_of("discard plans", true).discards_all);
    CHECK_FALSE(effect_of("discard temp", true).discards_all);
    CHECK_FALSE(effect_of("discard all; set application_name = 'x'", true).discards_all);
    CHECK_FALSE(effect_of("set application_name = 'x'; discard all", true).discards_all);
    CHECK_FALSE(effect_of("select 'discard all'", true).discards_all);
    CHECK_FALSE(effect_of("discard", true).discards_all);
}

TEST_CASE("text effect: DISCARD and DEALLOCATE anywhere forget statements") {
    CHECK(effect_of("deallocate all", true).forgets_statements);
    CHECK(effect_of("DEALLOCATE PREPARE p", true).forgets_statements);
    CHECK(effect_of("select 1; deallocate p", true).forgets_statements);
    CHECK(effect_of("discard plans", true).forgets_statements);
    CHECK_FALSE(effect_of("select 'deallocate all'", true).forgets_statements);
}

TEST_CASE("text effect: statements are counted, not semicolons") {
    CHECK_FALSE(effect_of("select 1", true).several);
    CHECK_FALSE(effect_of(";; select ';' ;;", true).several);
    CHECK(effect_of("select 1; select 2", true).several);
    CHECK(effect_of("select 1; commit;", true).several);
}

class RealServer {
public:
    RealServer() {
        const TestPostgres& server = TestPostgres::shared();
        server.run("create table if not exists t (a int)");
        server.run("create sequence if not exists s");
        server.run("create schema if not exists other");
        server.run("do $$ begin create role someone superuser; exception when others then end $$");
        server.run(
            "create or replace function leaves_something() returns int language plpgsql as "
            "$$ begin perform set_config('hidden.setting', 'x', false); return 1; end $$");
        server.run(
            "create or replace function other.set_config(text, text, bool) returns text "
            "language sql as $$ select pg_catalog.set_config($1, $2, false) $$");
        server.run(
            "create or replace procedure leave_something() language plpgsql as "
            "$$ begin perform set_config('hidden.setting', 'x', false); end $$");
        connection = std::make_unique<LeftBehind>(server.unix_socket());
    }
    std::unique_ptr<LeftBehind> connection;
};

TEST_CASE("text effect: whatever leaves something behind on a real PostgreSQL is pinned or reset") {
    RealServer server;
    int left = 0;
    for (const EffectCase& example : kEffectCases) {
        const std::string found = server.connection->after(std::string(example.text));
        INFO(example.text << "\n  left behind: " << found);
        const TextEffect effect = effect_of(example.text, true);
        if (!found.empty()) {
            ++left;
            CHECK((effect.pins || effect.resets));
        }
        if (example.expected == Expected::clean) CHECK(found.empty());
    }
    // The table would prove nothing if its texts failed on the server.
    CHECK(left >= 65);
}

}  // namespace
}  // namespace pgb::test

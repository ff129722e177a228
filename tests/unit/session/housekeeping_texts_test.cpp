#include "proxy/session/housekeeping_texts.h"

#include <string>

#include "proxy/session/reset_text.h"
#include "proxy/session/startup_texts.h"
#include "tests/support/catch.h"

namespace pgb::test {

TEST_CASE("housekeeping: pings and start-up queries are known in any case and however blanked") {
    for (const char* text : {"select current_catalog", "SELECT * FROM current_schema()",
                             "show transaction_read_only;\n  select "
                             "pg_catalog.pg_is_in_recovery()\n"}) {
        INFO(text);
        CHECK(housekeeping_of(text) == Housekeeping::alone);
    }
    for (const char* text : {"select 1", "SELECT 1", "Select 1;", "  select\n1 ; "}) {
        INFO(text);
        CHECK(housekeeping_of(text) == Housekeeping::ping);
    }
    for (const char* text : {"select pg_catalog.version()", "SELECT version();",
                             "select current_schema()", "show transaction isolation level"}) {
        INFO(text);
        CHECK(housekeeping_of(text) == Housekeeping::also_in_virtual_block);
    }
    for (const std::string& text : asyncpg_type_queries()) {
        CHECK(housekeeping_of(text) == Housekeeping::alone);
    }
    const std::string npgsql(npgsql_type_query());
    CHECK(housekeeping_of(npgsql) == Housekeeping::alone);
    std::string on_windows;
    for (const char c : npgsql) on_windows += c == '\n' ? "\r\n" : std::string(1, c);
    CHECK(housekeeping_of(on_windows) == Housekeeping::alone);
}

TEST_CASE("housekeeping: SET, SHOW and RESET are settings, whatever they name") {
    for (const char* text : {"set extra_float_digits = 3", "SET application_name = 'a;b'",
                             "show server_version", "reset search_path", "SET a.b = 1; show a.b;",
                             "set role none", "set local work_mem = 1"}) {
        INFO(text);
        CHECK(housekeeping_of(text) == Housekeeping::setting);
    }
}

TEST_CASE("housekeeping: resets, and the ends of prepared transactions, are no work") {
    for (const char* text : {"DISCARD ALL", "reset all", "close all; unlisten *", "reset role",
                             "select pg_advisory_unlock_all()", "commit prepared 'a'",
                             "ROLLBACK PREPARED 'a';", "deallocate all", "deallocate a"}) {
        INFO(text);
        CHECK(housekeeping_of(text) == Housekeeping::alone);
    }
}

TEST_CASE("housekeeping: what could do work is none") {
    for (const char* text : {"select 2",
                             "select 1, 2",
                             "select 1 /* a */",
                             "select 1; select 2",
                             "select 10",
                             "select",
                             "select ",
                             "",
                             "s",
                             "select 1 from t",
                             "insert into t values (1)",
                             "set a = 1; select 2",
                             "show a; insert into t values (1)",
                             "set a = 'b\\'; select 2",
                             "select set_config('a', 'b', false)",
                             "select pg_advisory_unlock_all(), f()",
                             "select pg_advisory_unlock_all(); select 2",
                             "close c",
                             "unlisten a",
                             "discard everything",
                             "commit",
                             "commit prepared 'a'; select 2",
                             "reset all; drop table t",
                             "create table a ()",
                             "with a as (select 1) select * from a",
                             "delete from t",
                             "revoke a from b",
                             "select version(), f()",
                             "security label on table t is 'a'",
                             "set a = 1; do $$ $$"}) {
        INFO(text);
        CHECK(housekeeping_of(text) == Housekeeping::no);
    }
    CHECK(housekeeping_of("set a = '" + std::string(2000, 'x') + "'") == Housekeeping::no);
    CHECK(housekeeping_of("select 1" + std::string(20000, ' ')) == Housekeeping::no);
}

TEST_CASE("resets: a text is read to its end, or not at all") {
    const auto steps = [](std::string_view text) {
        std::string tags;
        if (const auto read = ResetText::read(text)) {
            for (const Reset reset : read->steps()) (tags += tag_of(reset)) += ';';
        }
        return tags;
    };
    CHECK(steps("SET SESSION AUTHORIZATION DEFAULT;RESET ALL;CLOSE ALL;UNLISTEN *;SELECT "
                "pg_advisory_unlock_all();DISCARD SEQUENCES;DISCARD TEMP") ==
          "SET;RESET;CLOSE CURSOR ALL;UNLISTEN;SELECT 1;DISCARD SEQUENCES;DISCARD TEMP;");
    CHECK(steps("discard all") == "DISCARD ALL;");
    CHECK(steps("discard temporary;; deallocate prepare all") == "DISCARD TEMP;DEALLOCATE ALL;");
    CHECK(steps("reset session authorization; reset role") == "RESET;RESET;");
    CHECK(steps("discard all; reset all").empty());
    CHECK(steps("reset all, close all").empty());
    CHECK(steps("reset all a b c d e").empty());
    CHECK(steps("reset \"all\"").empty());
    CHECK(steps("reset alL; unlisten ").empty());
}

}  // namespace pgb::test

#include "proxy/admin/statement_mask.h"

#include <string>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

struct Case {
    const char* text;
    const char* shown;
};

// What stands in the place of a literal in these texts must never be seen.
constexpr const char* kSecret = "hunter";

TEST_CASE("mask: every literal is a question mark, names and parameters stay") {
    const Case cases[] = {
        {"select * from t where a = 'hunter' and b > 1.5", "select * from t where a = ? and b > ?"},
        {"select $1::int+5, $12, t1.c2 from t1", "select $1::int+?, $12, t1.c2 from t1"},
        {"insert into t values (12, 0x1F, 1e5, 1_000, .5, null, true)",
         "insert into t values (?, ?, ?, ?, .?, null, true)"},
        {"select E'hun\\'hunter', b'01', x'hunter', N'hunter', U&'hunter', 'it''s hunter'",
         "select ?, b?, x?, N?, U&?, ?"},
        {"select $$hunter$$, $tag$ hunter $$ $tag$", "select ?, ?"},
        {"select 'hunter'\n  'hunter'", "select ? ?"},
        {"select \"Mixed 'name'\", a-1", "select \"Mixed 'name'\", a-?"},
        {"  (select 1) union values ('hunter')  ", "(select ?) union values (?)"},
        {"with x as (select 'hunter') delete from t", "with x as (select ?) delete from t"},
        {"select 1;select 'hunter';", "select ?;select ?;"},
        {"", ""},
    };
    for (const Case& one : cases) {
        INFO(one.text);
        CHECK(mask_statement(one.text, true) == one.shown);
    }
}

TEST_CASE("mask: comments are not shown") {
    CHECK(mask_statement("/* hunter */ select /*a*/ 1 -- hunter\n, 2 --hunter", true) ==
          "select ? , ?");
    CHECK(mask_statement("select 1 /* hunter", true) == "select ?...");
}

TEST_CASE("mask: of a statement that is no plain DML only the verb is shown") {
    const Case cases[] = {
        {"alter role app password 'hunter'", "ALTER ..."},
        {"set my.hunter = hunter", "SET ..."},
        {"copy t from '/hunter'", "COPY ..."},
        {"Commit", "COMMIT"},
        {"commit ;", "COMMIT ;"},
        {"explain select hunter", "EXPLAIN ..."},
        {"select 1; create role hunter; select 2", "select ?; CREATE ..."},
        {"begin; select hunter", "BEGIN ..."},
        {"execute p('hunter')", "EXECUTE ..."},
    };
    for (const Case& one : cases) {
        INFO(one.text);
        CHECK(mask_statement(one.text, true) == one.shown);
    }
}

TEST_CASE("mask: where it is not sure what is a literal the text ends") {
    const Case cases[] = {
        {"select 'a\\', hunter, '", "select ?..."},  // either one literal or two
        {"select 'hunter", "select ?..."},           // does not end
        {"select $tag hunter", "select ..."},        // was cut off within the tag
        {"select $x$ hunter", "select ?..."},        // was cut off behind it
        {"select E'hunter", "select ?..."},         {"select a, b", "select a, b..."},
    };
    for (const Case& one : cases) {
        INFO(one.text);
        CHECK(mask_statement(one.text, false) == one.shown);
    }
}

TEST_CASE("mask: wherever a text is cut, no part of a literal is seen") {
    const std::string text =
        "select a1, 'hunter', $tag$hunter$tag$, E'\\'hunter', $1, 'x''hunter' /* hunter */ from t "
        "where b = $$hunter$$ -- hunter\n and c in (U&'hunter', b'1') ; set x = 'hunter'";
    for (std::size_t size = 0; size <= text.size(); ++size) {
        const std::string shown = mask_statement(std::string_view(text).substr(0, size), false);
        INFO(shown);
        // A piece of it would be seen as well.
        CHECK(shown.find("hun") == std::string::npos);
        CHECK(shown.find("unter") == std::string::npos);
    }
    CHECK(mask_statement(text, true).find(kSecret) == std::string::npos);
}

}  // namespace
}  // namespace pgb::test

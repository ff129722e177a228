#include "proxy/session/statement_target.h"

#include "proxy/session/text_effect.h"
#include "tests/support/catch.h"

namespace pgb::test {

namespace {

std::string later(std::string_view text) {
    std::string names;
    for (const std::string& name : read_later_targets(text)) names += name + ";";
    return names;
}

}  // namespace

TEST_CASE("statement target: names are found in later statements and inside others") {
    CHECK(later("prepare x as select 1; deallocate d") == "d;");
    CHECK(later("; execute a; execute \"B c\"(1); deallocate prepare D") == "B c;d;");
    CHECK(later("explain execute a") == "a;");
    CHECK(later("/* c */ explain (analyze, costs off) execute a(1, 2)") == "a;");
    CHECK(later("create temp table t as execute a") == "a;");
    CHECK(later("select 1; explain analyze execute a") == "a;");
}

TEST_CASE("statement target: the first statement's own name is not a later one") {
    CHECK(later("execute a").empty());
    CHECK(later("deallocate d;").empty());
    CHECK(later("prepare x as select 1; select 'deallocate d'").empty());
    CHECK(later("prepare x as select deallocate from d").empty());
}

TEST_CASE("statement target: a text that may name a statement anywhere is told as such") {
    for (const char* text : {"execute a", "select 1; deallocate a", "explain execute a",
                             "explain (verbose) execute a", "create table t as execute a"}) {
        INFO(text);
        CHECK(effect_of(text, true).names_statement);
    }
    for (const char* text :
         {"explain select 1", "grant execute on function f to a", "select execute from t",
          "create trigger t after insert on t for each row execute function f()"}) {
        INFO(text);
        CHECK_FALSE(effect_of(text, true).names_statement);
    }
}

}  // namespace pgb::test

#include "protocol/query_tags.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace pgb {

namespace {

struct Case {
    std::string_view emitter;
    std::string text;
    std::string_view key;
    std::string_view value;
};

// One line for each emitter, as it writes: its place, its separators, its encoding.
const std::vector<Case>& emitters() {
    static const std::vector<Case> cases{
        {"sqlcommenter's specification",
         "SELECT * FROM FOO /*action='%2Fparam*d',controller='index',framework='spring'*/",
         "action", "/param*d"},
        {"Rails, sqlcommenter format",
         R"(SELECT "carts".* FROM "carts" /*action='index',application='Shop',controller='carts'*/)",
         "controller", "carts"},
        {"Rails, prepended",
         R"(/*action='index',application='Shop'*/ SELECT "carts".* FROM "carts" LIMIT $1)",
         "application", "Shop"},
        {"Rails, legacy format",
         R"(SELECT "carts".* FROM "carts" /*application:Shop,controller:carts,job:A::B*/)", "job",
         "A::B"},
        {"Rails, source_location", "SELECT 1 /*source_location:app/models/cart.rb:12*/",
         "source_location", "app/models/cart.rb:12"},
        {"OpenTelemetry Python",
         "SELECT 1 /*db_driver='psycopg2%3A2.9.9',traceparent='00-1f-2e-01'*/;", "db_driver",
         "psycopg2:2.9.9"},
        {"google sqlcommenter for Python",
         "SELECT 1 /*db_driver='django.db.backends.postgresql',route='%%5Epolls/%%24'*/", "route",
         "^polls/$"},
        {"Java, URLEncoder", "select u.id from users u /*action='run+all',framework='spring'*/",
         "action", "run all"},
        {"Hibernate's own comment, then tags",
         "/* select u from User u */ select u.id from users u /*action='run'*/", "action", "run"},
        {"Knex", "select * from \"t\" /*db_driver='knex%3A1.0',route='%2Fitems%2F%3Aid'*/", "route",
         "/items/:id"},
        {"Sequelize", "SELECT 1; /*db_driver='sequelize%3A6.0.0',route='%2F'*/", "route", "/"},
        {"Prisma", "SELECT 1 /*requestId='abc-123',route='%2Fapi'*/", "requestId", "abc-123"},
        {"Datadog", "/*dddbs='orders',dde='prod',ddps='shop-web'*/ SELECT $1", "ddps", "shop-web"},
        {"OpenTelemetry PHP, prepended", "/*service.name='cart'*/ SELECT 1", "service.name",
         "cart"},
        {"Sequel", "SELECT * FROM \"albums\" -- model:Album,method_type:class,method:all\n",
         "method", "all"},
        {"Ecto", "SELECT 1 /* workload='reports' */", "workload", "reports"},
    };
    return cases;
}

std::string_view no_tags_in(std::string_view text) {
    return QueryTags(text).empty() ? std::string_view() : text;
}

}  // namespace

TEST_CASE("query tags: each emitter's form is read") {
    for (const Case& one : emitters()) {
        INFO(one.emitter << ": " << one.text);
        const QueryTags tags(one.text);
        CHECK(tags.value(one.key) == std::string(one.value));
        CHECK(tags.has(one.key, one.value));
        CHECK_FALSE(tags.has(one.key, std::string(one.value) + "x"));
        CHECK_FALSE(tags.has("nokey", one.value));
        const std::string kept = tag_comments(one.text);
        CHECK(QueryTags(kept).value(one.key) == std::string(one.value));
    }
}

TEST_CASE("query tags: what quotes enclose is decoded, and nothing else") {
    const QueryTags tags(
        R"(SELECT 1 /*a='it\'s',b='100%',c='%zz',d='%25%32',e='%%%%2F',f='\'\'',g='',h%20i='x'*/)");
    CHECK(tags.value("a") == "it's");
    CHECK(tags.value("b") == "100%");
    CHECK(tags.value("c") == "%zz");
    CHECK(tags.value("d") == "%2");
    CHECK(tags.value("e") == "%/");
    CHECK(tags.value("f") == "''");
    CHECK(tags.value("g") == "");
    CHECK(tags.value("h i") == "x");
    const QueryTags plain("SELECT 1 /*a:1+1,b:50%,c:x y */");
    CHECK(plain.value("a") == "1+1");
    CHECK(plain.value("b") == "50%");
    CHECK(plain.value("c") == "x y");
    CHECK(QueryTags("SELECT 1 --a:b--c").value("a") == "b--c");
}

TEST_CASE("query tags: the end of the text wins, then the first pair of a key") {
    const QueryTags tags("/*a='front',b='front'*/ SELECT 1 /*a='one',a='two'*/ ; ");
    CHECK(tags.value("a") == "one");
    CHECK(tags.value("b") == "front");
    CHECK_FALSE(tags.has("a", "two"));
    CHECK_FALSE(tags.has("a", "front"));
    CHECK(QueryTags(tag_comments("/*a='1'*/ SELECT 1 -- b:2")).value("a") == "1");
    CHECK(QueryTags(tag_comments("/*a='1'*/ SELECT 1 -- b:2")).value("b") == "2");
}

TEST_CASE("query tags: prose, nested comments and literals are no tags") {
    for (const std::string_view text : {
             "",
             ";",
             "SELECT 1",
             "SELECT 1 --",
             "SELECT 1 /**/",
             "/*",
             "/*/",
             "*/",
             "/* a='b'",
             "SELECT 1 /* please do not use this in reports */",
             "SELECT 1 /* Beware: look at the plan, then again */",
             "SELECT 1 /* note: don't */",
             "SELECT 1 /*a='b',*/",
             "SELECT 1 /*a='b' c='d'*/",
             "SELECT 1 /*a=b*/",
             "SELECT 1 /*a='b,c='d'*/",
             "SELECT 1 /*a='b*/",
             "SELECT 1 /*a='b\\'*/",
             "SELECT 1 /*='b'*/",
             "SELECT 1 /*:b*/",
             "SELECT 1 /*a:*/",
             "SELECT 1 /* outer /* a='b' */ */",
             "SELECT 1 /* outer /* x */ a='b' */",
             "/* outer /* a='b' */ */ SELECT 1",
             "SELECT 1 /*a='b'*/ WHERE true",
             "SELECT 1 /*a='b'*/ -- last word",
             "SELECT '/*a=''b''*/'",
             "SELECT ' -- a:b'",
             "SELECT ' -- a:b', 2",
             "SELECT \" -- a:b\"",
             "SELECT $$ -- a:b$$",
             "SELECT $$ -- a='b'$$",
             "SELECT ' -- a=''b'''",
             "SELECT ' -- a='''",
             "SELECT E' -- a=\\'b\\''",
             "SELECT 1 -- a:b\n FROM t",
             "SELECT 5--a:b",
         }) {
        CHECK(no_tags_in(text) == "");
    }
}

TEST_CASE("query tags: a text is read for so many bytes and pairs, and no more") {
    const std::string blanks(QueryTags::kTrailingMax, ' ');
    CHECK(QueryTags("/*a='b'*/" + blanks + "x").has("a", "b"));
    CHECK(QueryTags("x" + blanks + "/*a='b'*/").has("a", "b"));
    CHECK(no_tags_in(blanks + "/*a='b'*/ x") == "");
    CHECK(no_tags_in("x /*a='b'*/" + blanks) == "");
    CHECK(no_tags_in("x /*a='" + std::string(QueryTags::kTrailingMax, 'b') + "'*/") == "");
    CHECK(no_tags_in("/*a='" + std::string(QueryTags::kLeadingMax, 'b') + "'*/ x") == "");

    const std::string long_value(QueryTags::kValueMax + 1, 'v');
    const std::string long_key(QueryTags::kKeyMax + 1, 'k');
    const std::string text = "x /*" + long_key + "='1',a='" + long_value + "',a='2'*/";
    CHECK_FALSE(QueryTags(text).value(long_key).has_value());
    CHECK(QueryTags(text).value("a") == "2");

    std::string many = "x /*";
    for (std::size_t i = 0; i < QueryTags::kPairsMax; ++i) many += "p" + std::to_string(i) + ":1,";
    many += "last:1*/";
    CHECK(QueryTags(many).has("p" + std::to_string(QueryTags::kPairsMax - 1), "1"));
    CHECK_FALSE(QueryTags(many).has("last", "1"));
}

TEST_CASE("query tags: of a text whose end is missing only the beginning counts") {
    const std::string_view text = "/*a='1'*/ SELECT 1 /*b='2'*/";
    CHECK(QueryTags(text, false).has("a", "1"));
    CHECK_FALSE(QueryTags(text, false).value("b").has_value());
    CHECK_FALSE(QueryTags(tag_comments(text, false)).value("b").has_value());
}

TEST_CASE("query tags: any semicolons at the end are no part of a tag, also of what was kept") {
    for (const std::string_view text :
         {"SELECT 1 /*a='b'*/;;", "SELECT 1 /*a='b'*/ ; ;", "SELECT 1 -- a:b;;"}) {
        CHECK(QueryTags(text).has("a", "b"));
        CHECK(QueryTags(tag_comments(text)).has("a", "b"));
    }
    const std::string_view neither = "SELECT 1 -- a:b */;;";
    CHECK(QueryTags(neither).empty());
    CHECK(tag_comments(neither).empty());
}

}  // namespace pgb

#include "protocol/deadline_tag.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace pgb {

namespace {

constexpr std::int64_t kNone = -1;

std::int64_t milliseconds(std::string_view text) {
    return deadline_tag(text).milliseconds.value_or(kNone);
}

bool is_garbled(std::string_view value) {
    const DeadlineTag tag = deadline_tag("SELECT 1 /*deadline_ms='" + std::string(value) + "'*/");
    return tag.garbled && !tag.milliseconds;
}

std::int64_t of_value(std::string_view value) {
    return milliseconds("SELECT 1 /*deadline_ms='" + std::string(value) + "'*/");
}

}  // namespace

TEST_CASE("a deadline is found wherever tags are") {
    CHECK(milliseconds("SELECT 1 /*deadline_ms='150'*/") == 150);
    CHECK(milliseconds("SELECT 1 /*deadline_ms='150'*/;") == 150);
    CHECK(milliseconds("SELECT 1 /*deadline_ms='150'*/;;;") == 150);
    CHECK(milliseconds("SELECT 1 /*deadline_ms='150'*/ ; \n") == 150);
    CHECK(milliseconds("SELECT 1; /*action='x',deadline_ms='150'*/") == 150);
    CHECK(milliseconds("/*deadline_ms='150'*/ SELECT 1") == 150);
    CHECK(milliseconds("\n  /* deadline_ms='150' */ SELECT 1") == 150);
    CHECK(milliseconds("SELECT 1 /*application:Shop,deadline_ms:150*/") == 150);
    CHECK(milliseconds("SELECT 1 -- deadline_ms:150\n") == 150);
    CHECK(milliseconds("SELECT 1 -- deadline_ms:150") == 150);
    CHECK(milliseconds("-- deadline_ms:150") == 150);
    CHECK(milliseconds("SELECT '-' -- deadline_ms:150") == 150);
    CHECK(milliseconds("BEGIN /*deadline_ms='150'*/") == 150);
}

TEST_CASE("no deadline is found where there is none") {
    for (const std::string_view text :
         {"", ";", "-", "--", "/", "SELECT 1", "SELECT 1;", "SELECT 1 /* deadline_ms=150 */",
          "SELECT /*deadline_ms='150'*/ 1", "SELECT 'deadline_ms:150'", "SELECT 1 - 1",
          "SELECT '2026-01-01'", "SELECT 1 /*deadline='150'*/", "SELECT 1 /*deadline_ms='150'"}) {
        INFO(text);
        CHECK(milliseconds(text) == kNone);
        CHECK_FALSE(deadline_tag(text).garbled);
    }
}

TEST_CASE("the end of a text that is missing has no deadline") {
    CHECK_FALSE(deadline_tag("SELECT 1 /*deadline_ms='1'*/", false).milliseconds);
    CHECK(deadline_tag("/*deadline_ms='1'*/ SELECT 1", false).milliseconds == 1);
}

TEST_CASE("what may not have tags is told so without reading on") {
    CHECK_FALSE(may_have_tags("SELECT 1"));
    CHECK_FALSE(may_have_tags("SELECT a - b FROM t WHERE c = '2026-01-01';"));
    CHECK_FALSE(may_have_tags("-- ping" + std::string(3000, 'x')));
    CHECK(may_have_tags(std::string(3000, 'x') + "-- a:b"));
    CHECK(may_have_tags("SELECT 1\n"));
}

TEST_CASE("a deadline is a number of milliseconds") {
    CHECK(of_value("0") == 0);
    CHECK(of_value("007") == 7);
    CHECK(of_value("149.99") == 149);
    CHECK(of_value("-1") == 0);
    CHECK(of_value("-0.5") == 0);
    CHECK(of_value("99999999999999999999999999") == DeadlineTag::kMillisecondsMax);
}

TEST_CASE("a deadline that is no number is none, and told apart") {
    for (const std::string_view value :
         {"", "soon", "150ms", "1e3", "-", ".", "1.", ".5", "1.2.3", "+5", " 5", "0x10", "1,5"}) {
        INFO(value);
        CHECK(is_garbled(value));
    }
}

}  // namespace pgb

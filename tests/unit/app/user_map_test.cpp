#include "proxy/app/user_map.h"

#include <string>

#include "tests/support/catch.h"

namespace pgb {

namespace {

UserMap map_of(std::string text) {
    UserMap::Parsed parsed = UserMap::parse(text);
    REQUIRE(parsed.faults.empty());
    return std::move(parsed.map);
}

std::string fault_of(std::string text) {
    std::string all;
    for (const LineFault& fault : UserMap::parse(text).faults) {
        all += std::to_string(fault.line) + ':' + std::to_string(fault.column) + ": " + fault.text;
    }
    return all;
}

}  // namespace

TEST_CASE("user map: an outside name stands for the users of its lines, and for no other") {
    const UserMap map =
        map_of("\"www\" \"app\"\n# a comment\n\"www\" \"report\"\n\"root\" \"postgres\"\n");
    CHECK(map.allows("www", "app"));
    CHECK(map.allows("www", "report"));
    CHECK_FALSE(map.allows("www", "www"));
    CHECK_FALSE(map.allows("www", "postgres"));
    CHECK_FALSE(map.allows("root", "app"));
    CHECK_FALSE(map_of("").allows("app", "app"));
}

TEST_CASE("user map: a regular expression names users by its first group, as in pg_ident.conf") {
    const UserMap map = map_of(
        "\"/^(.*)@example\\.com$\" \"\\1\"\n\"/^svc-(.*)\" \"app_\\1_x\"\n\"/ops\" \"admin\"\n");
    CHECK(map.allows("bob@example.com", "bob"));
    CHECK_FALSE(map.allows("bob@example.com", "alice"));
    CHECK_FALSE(map.allows("bob@example.com.evil", "bob"));
    CHECK(map.allows("svc-web", "app_web_x"));
    CHECK_FALSE(map.allows("svc-web", "app_\\1_x"));
    CHECK(map.allows("devops2", "admin"));
    CHECK_FALSE(map.allows("dev", "admin"));
}

TEST_CASE("user map: what can't be read is told with its place") {
    CHECK(fault_of("\"/(\" \"x\"").starts_with("1:1: the regular expression: "));
    CHECK(fault_of("\n\"/abc\" \"\\1\"") == "2:8: the regular expression has no group for \\1");
    CHECK(fault_of("\"\" \"x\"") == "1:1: the outside name is empty");
    CHECK(fault_of("www app") == "1:1: an outside name in double quotes must stand here");
}

}  // namespace pgb

#include <string>
#include <vector>

#include "protocol/startup.h"
#include "tests/support/catch.h"

namespace pgb {

TEST_CASE("options: settings are split and unescaped as PostgreSQL does") {
    struct Row {
        std::string_view options;
        std::vector<Setting> settings;
    };
    const std::vector<Row> rows = {
        {"", {}},
        {" \t\n\v\f\r ", {}},
        {"-c a=b", {{"a", "b"}}},
        {"-ca=b", {{"a", "b"}}},
        {"--a=b", {{"a", "b"}}},
        {"--statement-timeout=5s", {{"statement_timeout", "5s"}}},
        {"-c a-b=c-d", {{"a_b", "c-d"}}},
        {"  -c   a=b  --c=d -ce=f ", {{"a", "b"}, {"c", "d"}, {"e", "f"}}},
        {"-c application_name=foo\\ bar", {{"application_name", "foo bar"}}},
        {"-c a=x\\\\y", {{"a", "x\\y"}}},
        {"-c a=1+2", {{"a", "1+2"}}},
        {"-c a=x\\", {{"a", "x"}}},
        {"-c a=b=c", {{"a", "b=c"}}},
        {"-c a=", {{"a", ""}}},
        {"-c a=1 -c a=2", {{"a", "1"}, {"a", "2"}}},
        {"-c -c=x", {{"_c", "x"}}},
    };
    for (const Row& row : rows) {
        INFO(row.options);
        const auto found = parse_options(row.options);
        REQUIRE(found);
        CHECK(*found == row.settings);
    }
}

TEST_CASE("options: what only the server understands is nothing") {
    for (const std::string_view options :
         {"-c", "-c a", "-ca", "--a", "--", "-", "-c =b", "--=b", "-B 5", "-e", "-fs", "word",
          "-c a=b word", "-c a=b -c", "\\", "-S 64 -c a=b", "-- -c a=b", "-ec a=b"}) {
        INFO(options);
        CHECK_FALSE(parse_options(options).has_value());
    }
}

}  // namespace pgb

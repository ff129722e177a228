#include "protocol/bound_value.h"

#include "tests/support/catch.h"
#include "tests/unit/protocol/message_bytes.h"

namespace pgb {

TEST_CASE("bound value: each parameter has its own format, or that of all, or text") {
    const std::string values = "\0\2\0\0\0\1a\xff\xff\xff\xff\0\0"_bytes;
    std::string body;
    const auto of = [&](const std::string& formats, unsigned number) {
        body = "portal\0statement\0"_bytes + formats + values;
        return bound_value(body, number);
    };
    CHECK_FALSE(of("\0\0"_bytes, 1)->is_binary);
    CHECK(of("\0\0"_bytes, 1)->bytes == "a");
    CHECK(of("\0\1\0\1"_bytes, 1)->is_binary);
    CHECK(of("\0\1\0\1"_bytes, 2)->is_binary);
    CHECK(of("\0\2\0\1\0\0"_bytes, 1)->is_binary);
    CHECK_FALSE(of("\0\2\0\1\0\0"_bytes, 2)->is_binary);
    CHECK(of("\0\0"_bytes, 2)->is_null);
    CHECK_FALSE(of("\0\0"_bytes, 1)->is_null);
}

TEST_CASE("bound value: a parameter that is not there is none") {
    const std::string body = "\0\0\0\0\0\1\0\0\0\1a\0\0"_bytes;
    REQUIRE(bound_value(body, 1));
    CHECK_FALSE(bound_value(body, 0));
    CHECK_FALSE(bound_value(body, 2));
    CHECK_FALSE(bound_value("\0\0\0\1\0\2\0\1\0\0\0\1a\0\0"_bytes, 1));
    CHECK_FALSE(bound_value("\0\0\0\2\0\0\0\0\0\3\0\0\0\1a\0\0\0\1b\0\0\0\1c\0\0"_bytes, 3));
    for (std::size_t cut = 0; cut < body.size() - 2; ++cut) {
        CHECK_FALSE(bound_value(std::string_view(body).substr(0, cut), 1));
    }
}

}  // namespace pgb

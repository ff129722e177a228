#include "proxy/base/result.h"

#include <memory>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

Result<std::string> name_of(int number) {
    if (number < 0) return Error{"negative", 22};
    return std::string("number ") + std::to_string(number);
}

TEST_CASE("result: it is a value or an error, never both") {
    const Result<std::string> good = name_of(1);
    REQUIRE(good.ok());
    CHECK(static_cast<bool>(good));
    CHECK(*good == "number 1");
    CHECK(good->size() == 8);

    const Result<std::string> bad = name_of(-1);
    REQUIRE(!bad.ok());
    CHECK(!static_cast<bool>(bad));
    CHECK(bad.error().message == "negative");
    CHECK(bad.error().code == 22);
}

TEST_CASE("result: a value that can only be moved comes out whole") {
    Result<std::unique_ptr<int>> made(std::make_unique<int>(5));
    REQUIRE(made.ok());
    const std::unique_ptr<int> taken = std::move(made.value());
    CHECK(*taken == 5);
}

}  // namespace
}  // namespace pgb::test

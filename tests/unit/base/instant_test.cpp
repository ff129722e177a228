#include "proxy/base/instant.h"

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST_CASE("instant: adding and subtracting are each other's inverse") {
    const Instant at{seconds(5)};
    CHECK((at + seconds(3)) - at == seconds(3));
    CHECK((at + seconds(3)).since_start() == seconds(8));
    CHECK(at + Duration::zero() == at);
}

TEST_CASE("instant: a wait for ever ends never, and so does one that goes beyond the clock") {
    CHECK((Instant(seconds(5)) + Duration::max()).is_never());
    CHECK((Instant() + Duration::max()).is_never());
    CHECK((Instant(Duration::max() - seconds(1)) + seconds(1)).is_never());
    CHECK((Instant(Duration::max() - seconds(1)) + seconds(2)).is_never());
    CHECK(!(Instant(Duration::max() - seconds(1)) + (seconds(1) - nanoseconds(1))).is_never());
}

TEST_CASE("instant: never stays never and is later than everything else") {
    CHECK((Instant::never() + seconds(1)).is_never());
    CHECK((Instant::never() + Duration::zero()).is_never());
    CHECK(Instant::never() > Instant(Duration::max() - nanoseconds(1)));
    CHECK(!Instant().is_never());
}

TEST_CASE("instant: order is the order of time") {
    CHECK(Instant() < Instant(nanoseconds(1)));
    CHECK(Instant(seconds(1)) == Instant(nanoseconds(1'000'000'000)));
}

}  // namespace
}  // namespace pgb::test

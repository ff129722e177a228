#include "proxy/session/holding.h"

#include <string>

#include "tests/support/catch.h"

namespace pgb {
namespace {

Instant at_ms(int ms) { return Instant(std::chrono::milliseconds(ms)); }

}  // namespace

TEST_CASE("holding: of a statement the beginning is kept, whole or not, until the next") {
    LastStatement last;
    CHECK(last.text().empty());
    last.note("select 1");
    CHECK(last.text() == "select 1");
    CHECK(last.whole());
    last.note(std::string(LastStatement::kMax, 'x'));
    CHECK(last.whole());
    last.note(std::string(LastStatement::kMax, 'x') + 'y');
    CHECK(last.text() == std::string(LastStatement::kMax, 'x'));
    CHECK_FALSE(last.whole());
    last.forget();
    CHECK(last.text().empty());
}

TEST_CASE("holding: a statement in a pipeline counts from the end of the one before it") {
    StatementClock clock;
    clock.sent(at_ms(10));
    clock.sent(at_ms(15));
    CHECK(clock.since() == at_ms(10));
    CHECK(clock.answered(at_ms(40), true) == std::chrono::milliseconds(30));
    CHECK(clock.answered(at_ms(45), false) == std::chrono::milliseconds(5));
    // Idle since then.
    CHECK(clock.since() == at_ms(45));
    clock.sent(at_ms(100));
    CHECK(clock.answered(at_ms(101), false) == std::chrono::milliseconds(1));
}

}  // namespace pgb

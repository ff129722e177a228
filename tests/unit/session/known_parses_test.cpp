#include "proxy/session/known_parses.h"

#include "tests/support/catch.h"

namespace pgb::test {

TEST_CASE("known parses: the same text of another origin, setting or type is another") {
    const auto parse = KnownParses::digest(1, 0, "select 1", "");
    CHECK(KnownParses::digest(1, 0, "select 1", "") == parse);
    CHECK(KnownParses::digest(2, 0, "select 1", "") != parse);
    CHECK(KnownParses::digest(1, 1, "select 1", "") != parse);
    CHECK(KnownParses::digest(0, 1, "select 1", "") != parse);
    CHECK(KnownParses::digest(1, 0, "select 2", "") != parse);
    CHECK(KnownParses::digest(1, 0, "select 1", "abcd") != parse);
}

TEST_CASE("known parses: what is forgotten is not known, in whichever generation it was") {
    KnownParses known;
    known.add(7, 2);
    for (KnownParses::Digest other = 1000; other < 1000 + KnownParses::kGenerationMax; ++other) {
        known.add(other, 0);
    }
    CHECK(known.parameter_count(7) == 2);
    known.forget(7);
    CHECK_FALSE(known.has(7));
    CHECK(known.has(1000));
    known.forget_all();
    CHECK_FALSE(known.has(1000));
}

TEST_CASE("known parses: never more than two generations, and what is confirmed again stays") {
    KnownParses known;
    std::size_t kept = 0;
    const KnownParses::Digest last = 10 * KnownParses::kGenerationMax;
    for (KnownParses::Digest parse = 0; parse < last; ++parse) {
        known.add(parse, 0);
        if (parse % 100 == 0) known.add(last, 3);
    }
    for (KnownParses::Digest parse = 0; parse <= last; ++parse) kept += known.has(parse) ? 1U : 0U;
    CHECK(kept <= 2 * KnownParses::kGenerationMax);
    CHECK(known.has(last));
    CHECK(known.has(last - 1));
    CHECK_FALSE(known.has(0));
}

}  // namespace pgb::test

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
    known.add(7, {"abcdefgh", true});
    for (KnownParses::Digest other = 1000; other < 1000 + KnownParses::kGenerationMax; ++other) {
        known.add(other, {});
    }
    REQUIRE(known.has(7));
    CHECK(*known.find(7) == AcceptedParse{"abcdefgh", true});
    known.forget(7);
    CHECK_FALSE(known.has(7));
    CHECK(known.has(1000));
    known.forget_all();
    CHECK_FALSE(known.has(1000));
}

TEST_CASE("known parses: long lists of types make room for themselves") {
    KnownParses known;
    const std::string types(std::size_t{4} * 1000, 'x');
    const std::size_t fits = KnownParses::kGenerationBytesMax / types.size();
    known.add(0, {types, false});
    CHECK(known.find(0)->parameter_count() == 1000);
    for (KnownParses::Digest parse = 1; parse <= 3 * fits; ++parse)
        known.add(parse, {types, false});
    CHECK_FALSE(known.has(0));
    CHECK(known.has(3 * fits));
}

TEST_CASE("known parses: never more than two generations, and what is confirmed again stays") {
    KnownParses known;
    std::size_t kept = 0;
    const KnownParses::Digest last = 10 * KnownParses::kGenerationMax;
    for (KnownParses::Digest parse = 0; parse < last; ++parse) {
        known.add(parse, {});
        if (parse % 100 == 0) known.add(last, {});
    }
    for (KnownParses::Digest parse = 0; parse <= last; ++parse) kept += known.has(parse) ? 1U : 0U;
    CHECK(kept <= 2 * KnownParses::kGenerationMax);
    CHECK(known.has(last));
    CHECK(known.has(last - 1));
    CHECK_FALSE(known.has(0));
}

}  // namespace pgb::test

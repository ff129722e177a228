#include "proxy/pool/process_watch.h"

#include <vector>

#include "tests/support/catch.h"

namespace pgb {
namespace {

constexpr std::int64_t kServer = 1000;
constexpr BackendId kFirst{0, 1};
constexpr BackendId kSecond{1, 1};

Instant at_s(int s) { return Instant(std::chrono::seconds(s)); }

/// Looks, and tells who was found gone.
std::vector<BackendId> look(ProcessWatch& watch, int second, std::vector<AskedProcess> asked,
                            std::vector<SeenProcess> seen, std::int64_t server = kServer) {
    std::vector<BackendId> gone;
    watch.on_look(server, at_s(second), asked, seen, gone);
    return gone;
}

}  // namespace

TEST_CASE("processes: an orphan that was seen and is no more has gone, once", "[pool]") {
    ProcessWatch watch;
    CHECK(look(watch, 1, {{kFirst, 7, false}}, {{7, 50}}).empty());
    CHECK(watch.knows(kFirst));
    CHECK(look(watch, 2, {{kFirst, 7, true}}, {{7, 50}}).empty());
    CHECK(look(watch, 3, {{kFirst, 7, true}}, {}) == std::vector{kFirst});
    CHECK_FALSE(watch.knows(kFirst));
    CHECK(look(watch, 4, {{kFirst, 7, true}}, {}).empty());
}

TEST_CASE("processes: another process of the same number is not it", "[pool]") {
    ProcessWatch watch;
    look(watch, 1, {{kFirst, 7, false}}, {{7, 50}});
    CHECK(look(watch, 2, {{kFirst, 7, true}}, {{7, 51}}) == std::vector{kFirst});
}

TEST_CASE("processes: who was never seen is not found missing", "[pool]") {
    ProcessWatch watch;
    CHECK(look(watch, 1, {{kFirst, 7, true}}, {}).empty());
    // Nor is one that was first seen as an orphan: it may be somebody else.
    CHECK(look(watch, 2, {{kFirst, 7, true}}, {{7, 50}}).empty());
    CHECK(look(watch, 3, {{kFirst, 7, true}}, {}).empty());
}

TEST_CASE("processes: another server, or the same after a restart, proves nothing", "[pool]") {
    ProcessWatch watch;
    look(watch, 1, {{kFirst, 7, false}}, {{7, 50}});
    CHECK(look(watch, 2, {{kFirst, 7, true}}, {}, kServer + 1).empty());
    CHECK(look(watch, 3, {{kFirst, 7, true}}, {{7, 60}}, kServer + 1).empty());
    CHECK(look(watch, 4, {{kFirst, 7, true}}, {}) == std::vector{kFirst});
}

TEST_CASE("processes: a backend that is only slow to end is no orphan and stays", "[pool]") {
    ProcessWatch watch;
    look(watch, 1, {{kFirst, 7, false}}, {{7, 50}});
    CHECK(look(watch, 2, {{kFirst, 7, false}}, {}).empty());
    CHECK(watch.sight_of(kFirst) == nullptr);
}

TEST_CASE("processes: a place that has got another backend knows nothing of the one before",
          "[pool]") {
    ProcessWatch watch;
    look(watch, 1, {{kFirst, 7, false}}, {{7, 50, true}});
    const BackendId next{kFirst.slot, kFirst.generation + 1};
    CHECK_FALSE(watch.knows(next));
    CHECK(watch.sight_of(next) == nullptr);
    CHECK(look(watch, 2, {{next, 8, true}}, {}).empty());
}

TEST_CASE("processes: a sight tells since when a lock is waited for, and ends with the next look",
          "[pool]") {
    ProcessWatch watch;
    look(watch, 1, {{kFirst, 7, false}, {kSecond, 8, false}},
         {{7, 50, true}, {8, 51, false, true}});
    REQUIRE(watch.sight_of(kFirst) != nullptr);
    CHECK(watch.sight_of(kFirst)->waits_for_lock);
    CHECK(watch.sight_of(kSecond)->idle_in_transaction);
    look(watch, 2, {{kFirst, 7, false}}, {{7, 50, true}});
    CHECK(watch.sight_of(kFirst)->asked == at_s(2));
    CHECK(watch.sight_of(kFirst)->lock_wait_since == at_s(1));
    CHECK(watch.sight_of(kSecond) == nullptr);
    look(watch, 3, {{kFirst, 7, false}}, {{7, 50, false}});
    CHECK_FALSE(watch.sight_of(kFirst)->waits_for_lock);
    look(watch, 4, {{kFirst, 7, false}}, {{7, 50, true}});
    CHECK(watch.sight_of(kFirst)->lock_wait_since == at_s(4));
    watch.forget_sights();
    CHECK(watch.sight_of(kFirst) == nullptr);
    CHECK(watch.knows(kFirst));
}

}  // namespace pgb

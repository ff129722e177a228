#include "tests/unit/pool/pool_model.h"

#include "tests/support/catch.h"

namespace pgb::test {

TEST_CASE("pool: the id of a backend that has gone finds nothing, not the next one in its place",
          "[pool]") {
    PoolSettings settings;
    settings.pool_wait = std::chrono::seconds(1);
    Pool pool(settings, {{1, 0}});
    const GroupId group = pool.join("g");
    PoolWaiter waiter;
    std::vector<PoolAction> out;
    pool.ask(waiter, group, 0, Instant{}, out);
    pool.tick(Instant{}, out);
    REQUIRE(out.size() == 1);
    const BackendId first = out[0].backend;
    REQUIRE(pool.find(first) != nullptr);
    pool.on_connected(first, Instant{});
    pool.on_gone(first, Instant{});
    CHECK(pool.find(first) == nullptr);
    pool.tick(Instant{}, out);
    REQUIRE(out.size() == 2);
    const BackendId second = out[1].backend;
    CHECK(second.slot == first.slot);
    CHECK(pool.find(second) != nullptr);
    CHECK(pool.find(first) == nullptr);
    CHECK(pool.find(BackendId{}) == nullptr);
    pool.forget_waiter(waiter);
    pool.leave(group);
}

TEST_CASE("pool: no random run breaks an invariant, and every run reaches every outcome",
          "[pool]") {
    std::uint64_t lends = 0;
    std::uint64_t swaps = 0;
    std::uint64_t failures = 0;
    std::uint64_t refusals = 0;
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        INFO("seed " << seed);
        PoolModel model(seed);
        for (int i = 0; i < 4000; ++i) model.step();
        model.wind_down();
        lends += model.lends();
        swaps += model.swaps();
        failures += model.failures();
        refusals += model.refusals();
    }
    // The runs are worth nothing if they avoid what is difficult.
    CHECK(lends > 5000);
    CHECK(swaps > 500);
    CHECK(failures > 500);
    CHECK(refusals > 1000);
}

TEST_CASE("pool: whatever is reloaded, nothing is lost and nothing grows above P", "[pool]") {
    std::uint64_t lends = 0;
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        INFO("seed " << seed);
        PoolModel model(seed);
        for (int i = 0; i < 1500; ++i) {
            model.step();
            if (i % 37 == 0) model.reload();
        }
        model.wind_down();
        lends += model.lends();
    }
    CHECK(lends > 1000);
}

}  // namespace pgb::test

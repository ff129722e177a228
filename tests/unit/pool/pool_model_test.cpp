#include "tests/unit/pool/pool_model.h"

#include "tests/support/catch.h"

namespace pgb::test {

TEST_CASE("pool: no random run breaks an invariant, and every run reaches every outcome",
          "[pool]") {
    std::uint64_t lends = 0;
    std::uint64_t swaps = 0;
    std::uint64_t failures = 0;
    std::uint64_t refusals = 0;
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
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
    CHECK(lends > 10000);
    CHECK(swaps > 1000);
    CHECK(failures > 1000);
    CHECK(refusals > 1000);
}

}  // namespace pgb::test

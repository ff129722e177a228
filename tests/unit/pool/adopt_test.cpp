#include <vector>

#include "proxy/pool/pool.h"
#include "tests/support/catch.h"

namespace pgb {
namespace {

const std::vector<PoolWorkload> kWorkloads{{4, 0}};

PoolSettings settings(std::uint32_t size, std::uint32_t connecting) {
    PoolSettings result;
    result.size = size;
    result.pool_wait = std::chrono::seconds(1);
    result.connecting_max = connecting;
    return result;
}

Instant at(int seconds) { return Instant(std::chrono::seconds(seconds)); }

std::size_t connects(const Pool::Actions& actions) {
    std::size_t count = 0;
    for (const PoolAction& action : actions) {
        if (action.kind == PoolActionKind::connect) ++count;
    }
    return count;
}

}  // namespace

TEST_CASE("pool: a backend that somebody else opened is lent like one of its own", "[pool]") {
    Pool pool(settings(2, 1), kWorkloads);
    const GroupId group = pool.join("g");
    CHECK_FALSE(pool.greeting_known(group));
    const auto place = pool.adopt(group);
    REQUIRE(place);
    CHECK(pool.greeting_known(group));
    pool.on_connected(*place, at(1));
    PoolWaiter waiter;
    Pool::Actions actions;
    pool.ask(waiter, group, 0, at(1), actions);
    REQUIRE(actions.size() == 1);
    CHECK(actions[0].kind == PoolActionKind::lend);
    CHECK(actions[0].backend == *place);
    pool.give_back(*place, at(1));
    pool.leave(group);
}

TEST_CASE("pool: above P nothing is adopted, but logins are greeted", "[pool]") {
    Pool pool(settings(1, 1), kWorkloads);
    const GroupId full = pool.join("full");
    const auto place = pool.adopt(full);
    REQUIRE(place);
    pool.on_connected(*place, at(1));
    const GroupId group = pool.join("g");
    CHECK_FALSE(pool.adopt(group));
    CHECK(pool.greeting_known(group));
    CHECK(pool.counts().all() == 1);
    pool.leave(group);
    pool.leave(full);
}

TEST_CASE("pool: others' connects count against connecting_max", "[pool]") {
    Pool pool(settings(4, 2), kWorkloads);
    const GroupId group = pool.join("g");
    PoolWaiter waiters[2];
    Pool::Actions actions;
    pool.set_other_connects(2);
    for (PoolWaiter& waiter : waiters) pool.ask(waiter, group, 0, at(1), actions);
    pool.tick(at(1), actions);
    CHECK(connects(actions) == 0);
    pool.set_other_connects(1);
    pool.tick(at(1), actions);
    CHECK(connects(actions) == 1);
    for (PoolWaiter& waiter : waiters) pool.forget_waiter(waiter);
    pool.leave(group);
}

}  // namespace pgb

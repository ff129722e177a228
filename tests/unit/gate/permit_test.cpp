#include "proxy/gate/permit.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "proxy/gate/gate.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

static_assert(!std::is_copy_constructible_v<Permit> && !std::is_copy_assignable_v<Permit>);
static_assert(std::is_nothrow_move_constructible_v<Permit>);
static_assert(std::is_nothrow_move_assignable_v<Permit>);
static_assert(!std::is_copy_constructible_v<Waiter>);

class OneLane {
public:
    explicit OneLane(LaneBudget budget) : id(gate.add_lane("oltp", budget)) {}

    Permit admit(std::int64_t at_ns = 0) {
        Waiter waiter;
        return gate.arrive(id, waiter, Instant(Duration(at_ns)), out).permit;
    }
    [[nodiscard]] std::uint32_t running() const { return gate.stats(id).running; }

    Gate gate;
    std::vector<Settled> out;
    LaneId id;
};

TEST_CASE("permit: an empty one holds nothing and giving it back does nothing") {
    Permit empty;
    CHECK(!empty.held());
    empty.release();
    CHECK(!empty.held());
}

TEST_CASE("permit: it knows its lane and when it was granted") {
    OneLane one({2, 0, {}});
    const Permit permit = one.admit(7);
    REQUIRE(permit.held());
    CHECK(permit.lane() == one.id);
    CHECK(permit.granted_at() == Instant(Duration(7)));
}

TEST_CASE("permit: it is given back once, however often it is moved and released") {
    OneLane one({2, 0, {}});
    {
        Permit first = one.admit();
        CHECK(one.running() == 1);
        Permit second = std::move(first);
        CHECK(one.running() == 1);
        first = std::move(second);
        CHECK(one.running() == 1);
        first.release();
        CHECK(one.running() == 0);
        first.release();
        CHECK(one.running() == 0);
    }
    CHECK(one.running() == 0);
}

TEST_CASE("permit: assigning over a held one gives the old one back") {
    OneLane one({2, 0, {}});
    Permit permit = one.admit(1);
    permit = one.admit(2);
    CHECK(one.running() == 1);
    CHECK(permit.granted_at() == Instant(Duration(2)));
    permit = Permit();
    CHECK(one.running() == 0);
}

TEST_CASE("permit: assigning one to itself keeps it") {
    OneLane one({1, 0, {}});
    Permit permit = one.admit();
    Permit& same = permit;
    permit = std::move(same);
    CHECK(permit.held());
    CHECK(one.running() == 1);
}

TEST_CASE("permit: one that nobody takes from an out-list or a verdict is not lost") {
    OneLane one({1, 1, std::chrono::seconds(1)});
    Waiter waiter;
    Permit first = one.admit();
    CHECK(one.gate.arrive(one.id, waiter, Instant(), one.out).arrival == Arrival::queued);
    first.release();
    one.gate.dispatch(Instant(), one.out);
    REQUIRE(one.out.size() == 1);
    CHECK(one.running() == 1);
    one.out.clear();
    CHECK(one.running() == 0);
    (void)one.gate.arrive(one.id, waiter, Instant(), one.out);
    CHECK(one.running() == 0);
}

TEST_CASE("permit: 1,000 lanes made later leave it and its waiters where they were") {
    OneLane one({1, 1, std::chrono::seconds(1)});
    Waiter waiter;
    Permit permit = one.admit();
    (void)one.gate.arrive(one.id, waiter, Instant(), one.out);
    for (int i = 0; i < 1000; ++i) one.gate.add_lane("another", {1, 1, {}});
    permit.release();
    CHECK(one.running() == 0);
    one.gate.dispatch(Instant(), one.out);
    REQUIRE(one.out.size() == 1);
    CHECK(one.out[0].waiter == &waiter);
    CHECK(one.running() == 1);
}

TEST_CASE("waiter: its deadline follows the wait in force, and is never() when it does not wait") {
    OneLane one({1, 1, std::chrono::nanoseconds(50)});
    Waiter waiter;
    const Permit permit = one.admit();
    CHECK(waiter.deadline().is_never());
    (void)one.gate.arrive(one.id, waiter, Instant(Duration(10)), one.out);
    CHECK(waiter.waiting());
    CHECK(waiter.arrived() == Instant(Duration(10)));
    CHECK(waiter.deadline() == Instant(Duration(60)));
    one.gate.set_budget(one.id, {1, 1, Duration::max()});
    CHECK(waiter.deadline().is_never());
    CHECK(one.gate.next_deadline().is_never());
    one.gate.cancel(waiter, Leave::left);
    CHECK(waiter.deadline().is_never());
    CHECK(waiter.arrived() == Instant(Duration(10)));
}

TEST_CASE("shed reason: every reason has a word of its own") {
    for (const ShedReason a : kShedReasons) {
        CHECK(to_word(a) != "unknown");
        CHECK(kShedReasons[index_of(a)] == a);
        for (const ShedReason b : kShedReasons) CHECK((to_word(a) == to_word(b)) == (a == b));
    }
}

TEST_CASE("turnover: sums that wrap still give the mean") {
    Turnover turnover;
    const Duration near_the_end = Duration::max() - std::chrono::hours(1);
    for (int i = 0; i < 100; ++i) turnover.on_release(Instant(near_the_end));
    turnover.fold(Instant(near_the_end + std::chrono::milliseconds(20)));
    CHECK(turnover.mean_hold() > std::chrono::milliseconds(19));
    CHECK(turnover.mean_hold() <= std::chrono::milliseconds(20));
}

TEST_CASE("turnover: no number of long holds takes an estimate beyond an hour") {
    Turnover turnover;
    const Instant late{std::chrono::hours(24 * 365)};
    for (int i = 0; i < 10'000; ++i) turnover.on_release(Instant());
    turnover.fold(late);
    CHECK(turnover.mean_hold() == std::chrono::hours(1));
    CHECK(turnover.expected(1'000'000'000, 1, late) == std::chrono::hours(1));
}

}  // namespace
}  // namespace pgb::test

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "proxy/gate/gate.h"
#include "tests/support/catch.h"
#include "tests/unit/gate/gate_rules.h"

// Shadow decides as enforcing would: the same transactions, each with its arrival and the time for
// which it holds a permit, go through a gate that enforces and one that is in shadow. At every
// instant the imaginary books of the one are the real books of the other.

namespace pgb::test {
namespace {

using std::chrono::microseconds;

struct Piece {
    Instant arrival;
    Duration hold{0};
    Instant due = Instant::never();
};

struct BudgetChange {
    Instant at;
    LaneBudget budget;
};

/// One gate, one lane, and the transactions that go through it in virtual time.
class World {
public:
    World(LaneMode mode, LaneBudget budget, const std::vector<Piece>& pieces)
        : lane_(gate_.add_lane("oltp", budget, {.mode = mode})), pieces_(pieces) {
        for (const Piece& piece : pieces) {
            clients_.push_back(std::make_unique<Client>());
            clients_.back()->hold = piece.hold;
        }
    }
    ~World() {
        for (const auto& client : clients_) gate_.cancel(client->waiter, Leave::left);
    }

    [[nodiscard]] Instant next_event() const {
        Instant next = next_ < pieces_.size() ? pieces_[next_].arrival : Instant::never();
        for (const auto& client : clients_) next = std::min(next, client->ends);
        return std::min(next, gate_.next_deadline());
    }

    /// Everything of this instant: permits come back, transactions arrive, the turn ends.
    void play(Instant now, bool dispatches) {
        for (const auto& client : clients_) {
            if (client->ends > now) continue;
            client->permit.release();
            client->ends = Instant::never();
        }
        for (; next_ < pieces_.size() && pieces_[next_].arrival <= now; ++next_) {
            Client& client = *clients_[next_];
            client.waiter.finish_by(pieces_[next_].due);
            Verdict verdict = gate_.arrive(lane_, client.waiter, now, settled_);
            settle(now);
            if (verdict.arrival == Arrival::admitted) run(client, std::move(verdict.permit), now);
        }
        if (dispatches) {
            gate_.dispatch(now, settled_);
            settle(now);
        }
    }

    void set_budget(LaneBudget budget) { gate_.set_budget(lane_, budget); }
    [[nodiscard]] const LaneStats& real() const { return gate_.stats(lane_); }
    [[nodiscard]] const LaneStats& imaginary() const { return *gate_.shadow(lane_); }
    [[nodiscard]] std::vector<std::string> broken(bool lowered) const {
        return broken_rules(gate_, lowered, false);
    }

private:
    struct Client {
        Waiter waiter;
        Permit permit;
        Duration hold{0};
        Instant ends = Instant::never();
    };

    static void run(Client& client, Permit permit, Instant now) {
        client.permit = std::move(permit);
        client.ends = now + client.hold;
    }
    void settle(Instant now) {
        for (Settled& settled : settled_) {
            const auto found =
                std::find_if(clients_.begin(), clients_.end(),
                             [&](const auto& client) { return &client->waiter == settled.waiter; });
            if (settled.granted) run(**found, std::move(settled.permit), now);
        }
        settled_.clear();
    }

    Gate gate_;
    LaneId lane_;
    const std::vector<Piece>& pieces_;
    std::size_t next_ = 0;
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<Settled> settled_;
};

struct Play {
    explicit Play(unsigned seed) : random(seed) {
        // Few instants, so that much happens at the same one.
        Instant at;
        for (int i = 0; i < 150; ++i) {
            at = at + microseconds(100 * pick(8));
            const Duration hold = microseconds(100 * (1 + pick(40)));
            const Instant due = at + microseconds(100 * (1 + pick(120)));
            pieces.push_back({at, hold, pick(2) == 0 ? Instant::never() : due});
        }
        budget = some_budget();
        for (int i = 0; i < 3; ++i) {
            changes.push_back({Instant(microseconds(100 * pick(400))), some_budget()});
        }
        std::sort(changes.begin(), changes.end(),
                  [](const auto& a, const auto& b) { return a.at < b.at; });
    }
    std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); }
    LaneBudget some_budget() { return {1 + pick(6), pick(8), microseconds(100 * pick(60))}; }

    std::mt19937 random;
    LaneBudget budget;
    std::vector<Piece> pieces;
    std::vector<BudgetChange> changes;
};

// The shadow is dispatched at every event of either world, or only at its own: what it decides does
// not depend on when it is looked at.
enum class Look { always, at_its_own };

void compare(unsigned seed, Look look, bool changes_budget) {
    Play play(seed);
    World enforcing(LaneMode::enforce, play.budget, play.pieces);
    World shadow(LaneMode::shadow, play.budget, play.pieces);
    auto change = play.changes.begin();
    const auto end = changes_budget ? play.changes.end() : change;
    for (;;) {
        Instant now = std::min(enforcing.next_event(), shadow.next_event());
        const bool changes = change != end && change->at <= now;
        if (changes) now = change->at;
        if (now.is_never()) break;
        const bool own = shadow.next_event() <= now || changes;
        if (changes) {
            enforcing.play(now, true);
            shadow.play(now, true);
            enforcing.set_budget(change->budget);
            shadow.set_budget(change->budget);
            ++change;
        }
        enforcing.play(now, true);
        shadow.play(now, look == Look::always || own);
        if (look == Look::always) {
            REQUIRE(shadow.imaginary() == enforcing.real());
            REQUIRE(enforcing.broken(changes_budget) == std::vector<std::string>{});
            REQUIRE(shadow.broken(false) == std::vector<std::string>{});
        }
    }
    REQUIRE(shadow.imaginary() == enforcing.real());
    REQUIRE(shadow.imaginary().running == 0);
    REQUIRE(shadow.real().admitted == play.pieces.size());
    REQUIRE(shadow.real().running == 0);
}

TEST_CASE(
    "shadow: what would have been shed is counted on when the lane leaves shadow and comes back") {
    Gate gate;
    const LaneId lane = gate.add_lane("oltp", {1, 0, Duration::zero()});
    std::vector<Settled> out;
    const auto shed_in_a_round = [&](LaneMode mode) {
        const std::uint64_t before = gate.would_shed(lane, ShedReason::queue_full);
        gate.set_mode(lane, mode);
        CHECK(gate.would_shed(lane, ShedReason::queue_full) == before);
        std::vector<Waiter> waiters(3);
        std::vector<Permit> permits;
        for (Waiter& waiter : waiters) {
            permits.push_back(gate.arrive(lane, waiter, Instant(), out).permit);
        }
        return gate.would_shed(lane, ShedReason::queue_full) - before;
    };
    CHECK(shed_in_a_round(LaneMode::enforce) == 0);
    CHECK(shed_in_a_round(LaneMode::shadow) == 2);
    CHECK(shed_in_a_round(LaneMode::off) == 0);
    CHECK(shed_in_a_round(LaneMode::shadow) == 2);
    CHECK(gate.would_shed(lane, ShedReason::queue_full) == 4);
    CHECK(gate.shadow(lane)->shed(ShedReason::queue_full) == 2);
}

TEST_CASE("shadow: its books are at every instant those of a lane that enforces") {
    for (unsigned seed = 1; seed <= 400; ++seed) {
        INFO("seed " << seed);
        compare(seed, Look::always, false);
        compare(seed, Look::at_its_own, false);
    }
}

TEST_CASE("shadow: that holds when the budget is changed meanwhile") {
    for (unsigned seed = 1; seed <= 400; ++seed) {
        INFO("seed " << seed);
        compare(seed, Look::always, true);
    }
}

TEST_CASE("shadow: deadlines end waits there, and what they refuse on arrival") {
    std::uint64_t refused = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        Play play(seed);
        World enforcing(LaneMode::enforce, play.budget, play.pieces);
        while (!enforcing.next_event().is_never()) enforcing.play(enforcing.next_event(), true);
        refused += enforcing.real().shed(ShedReason::deadline);
    }
    CHECK(refused > 100);
}

TEST_CASE("shadow: what is told late is decided in order of time") {
    ShadowLane lane({1, 2, microseconds(100)});
    const auto at = [](int us) { return Instant(microseconds(us)); };
    const ShadowTicket first = lane.arrive(at(0));
    const ShadowTicket second = lane.arrive(at(10));
    lane.arrive(at(10));
    lane.end(first);
    // Tells at once that the first ended at 60 and what followed until 1000.
    lane.dispatch(at(60));
    lane.end(second);
    lane.dispatch(at(70));  // held for 60, from 60 on: to 120
    lane.dispatch(at(1000));
    CHECK(lane.stats().admitted == 2);
    CHECK(lane.stats().shed(ShedReason::queue_timeout) == 1);
    CHECK(lane.stats().running == 0);
    CHECK(lane.next_deadline().is_never());
}

TEST_CASE("shadow: a permit that outlives the mode or its books ends nothing of others") {
    Gate gate;
    const LaneId lane = gate.add_lane("oltp", {1, 0, Duration(0)}, {.mode = LaneMode::shadow});
    std::vector<Settled> out;
    Waiter waiter;
    Instant now;
    Permit old = gate.arrive(lane, waiter, now, out).permit;
    gate.set_mode(lane, LaneMode::enforce);
    gate.set_mode(lane, LaneMode::shadow);
    Permit fresh = gate.arrive(lane, waiter, now, out).permit;
    CHECK(gate.shadow(lane)->running == 1);
    old.release();
    gate.dispatch(now, out);
    CHECK(gate.shadow(lane)->running == 1);
    fresh.release();
    gate.dispatch(now, out);
    CHECK(gate.shadow(lane)->running == 0);
}

}  // namespace
}  // namespace pgb::test

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "proxy/gate/gate.h"
#include "tests/support/catch.h"
#include "tests/unit/gate/gate_rules.h"

// The retry contract in virtual time: a closed loop of clients that want more than the lane has. What
// an obedient one is told must let it in with good probability, however many there are; and one that
// does not obey must gain nothing for itself and take nothing from the others.

namespace pgb::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

enum class Manners { obedient, on_its_own_clock, at_once };

struct Scene {
    LaneBudget budget{8, 8, milliseconds(100)};
    bool paced = false;
    double load = 2;  ///< what the clients would use of the permits if there were enough
    double think_ms = 10;
    double hold_ms = 10;
    Manners manners = Manners::obedient;
    Manners manners_of_half = Manners::obedient;
    double seconds = 60;
};

struct Outcome {
    std::uint64_t attempts = 0;
    std::uint64_t successes = 0;
    std::uint64_t returns = 0;  ///< attempts after a refusal
    std::uint64_t let_in = 0;   ///< those of them that got a permit or a place and then a permit
    double busy_ms = 0;         ///< of all permits together
    std::uint64_t fewest = 0;   ///< successes of the unluckiest client
    [[nodiscard]] double attempts_per_success() const {
        return static_cast<double>(attempts) / static_cast<double>(successes);
    }
    [[nodiscard]] double chance() const {
        return returns == 0 ? 1 : static_cast<double>(let_in) / static_cast<double>(returns);
    }
};

/// One run of a scene. A turn for each event, as the proxy has them when they come one by one.
class Loop {
public:
    explicit Loop(const Scene& scene)
        : scene_(scene),
          lane_(gate_.add_lane("oltp", scene.budget, {.pace_retries = scene.paced})) {
        const double slots = scene.load * scene.budget.concurrency;
        const auto count =
            static_cast<std::size_t>(slots * (scene.hold_ms + scene.think_ms) / scene.hold_ms);
        for (std::size_t i = 0; i < count; ++i) {
            Client& client = *clients_.emplace_back(std::make_unique<Client>());
            client.manners = i % 2 == 0 ? scene.manners : scene.manners_of_half;
            at(random_ms(scene.think_ms + scene.hold_ms), client, Step::arrive);
        }
    }
    ~Loop() {
        for (const auto& client : clients_) gate_.cancel(client->waiter, Leave::left);
    }

    Outcome run() {
        const Instant end = now_ + ms(scene_.seconds * 1000);
        while (now_ < end) {
            const Instant deadline = gate_.next_deadline();
            if (events_.empty() || deadline < events_.top().when) {
                now_ = deadline;
            } else {
                const Event event = events_.top();
                events_.pop();
                now_ = event.when;
                play(event);
            }
            gate_.dispatch(now_, settled_);
            settle();
            broken_ += broken_rules(gate_, false, true).size();
        }
        REQUIRE(broken_ == 0);
        outcome_.fewest = outcome_.successes;
        for (const auto& client : clients_) {
            outcome_.fewest = std::min(outcome_.fewest, client->successes);
        }
        return outcome_;
    }

    [[nodiscard]] const ReturnStats& returns() const { return gate_.returns(lane_); }
    [[nodiscard]] double goodput() const {
        return outcome_.busy_ms / (scene_.budget.concurrency * scene_.seconds * 1000);
    }

private:
    enum class Step { arrive, finish };
    struct Client {
        Waiter waiter;
        Permit permit;
        Manners manners = Manners::obedient;
        bool refused = false;
        double holds_ms = 0;
        std::uint64_t successes = 0;
    };
    struct Event {
        Instant when;
        std::uint64_t number;
        Client* client;
        Step step;
        bool operator<(const Event& other) const {
            return when != other.when ? when > other.when : number > other.number;
        }
    };

    static Duration ms(double count) { return Duration(static_cast<Duration::rep>(count * 1e6)); }
    Duration random_ms(double mean) {
        return ms(std::exponential_distribution<double>(1 / mean)(random_));
    }
    void at(Duration after, Client& client, Step step) {
        // The way there and back.
        events_.push({now_ + after + microseconds(200), ++number_, &client, step});
    }

    void play(const Event& event) {
        Client& client = *event.client;
        if (event.step == Step::finish) {
            client.permit.release();
            outcome_.busy_ms += client.holds_ms;
            ++outcome_.successes;
            ++client.successes;
            at(random_ms(scene_.think_ms), client, Step::arrive);
            return;
        }
        ++outcome_.attempts;
        if (client.refused) ++outcome_.returns;
        Verdict verdict = gate_.arrive(lane_, client.waiter, now_, settled_);
        settle();
        if (verdict.arrival == Arrival::admitted) work(client, std::move(verdict.permit));
        if (verdict.arrival == Arrival::shed) refuse(client);
    }
    void settle() {
        for (std::size_t i = 0; i < settled_.size(); ++i) {
            Client& client = client_of(*settled_[i].waiter);
            if (settled_[i].granted) {
                work(client, std::move(settled_[i].permit));
            } else {
                refuse(client);
            }
        }
        settled_.clear();
    }
    Client& client_of(const Waiter& waiter) {
        for (const auto& client : clients_) {
            if (&client->waiter == &waiter) return *client;
        }
        FAIL("settled a waiter that is nobody's");
        return *clients_[0];
    }
    void work(Client& client, Permit permit) {
        if (client.refused) ++outcome_.let_in;
        client.refused = false;
        client.permit = std::move(permit);
        const Duration hold = random_ms(scene_.hold_ms);
        client.holds_ms = static_cast<double>(hold.count()) / 1e6;
        events_.push({now_ + hold, ++number_, &client, Step::finish});
    }
    void refuse(Client& client) {
        client.refused = true;
        const double jitter = std::uniform_real_distribution<double>(0, 1)(random_);
        const Duration told = gate_.promise_return(lane_, client.waiter, now_, seconds(5), jitter);
        switch (client.manners) {
            case Manners::obedient: at(told, client, Step::arrive); break;
            case Manners::on_its_own_clock: at(milliseconds(20), client, Step::arrive); break;
            case Manners::at_once: at(Duration(0), client, Step::arrive); break;
        }
    }

    Scene scene_;
    std::mt19937_64 random_{1};
    Gate gate_;
    LaneId lane_;
    std::vector<std::unique_ptr<Client>> clients_;
    std::vector<Settled> settled_;
    std::priority_queue<Event> events_;
    std::uint64_t number_ = 0;
    std::size_t broken_ = 0;
    Instant now_{seconds(1)};
    Outcome outcome_;
};

void print(const char* name, const Scene& scene, const Loop& loop, const Outcome& outcome) {
    std::fputs(
        fmt::format("{}, {:g}x of capacity{}: {:.2f} attempts a success, {:.0f} % of those who "
                    "come back get in, {:.1f} % of the permits' time used, {} at least each\n",
                    name, scene.load, scene.paced ? ", paced" : "", outcome.attempts_per_success(),
                    100 * outcome.chance(), 100 * loop.goodput(), outcome.fewest)
            .c_str(),
        stdout);
}

Outcome play(const char* name, const Scene& scene, double goodput) {
    Loop loop(scene);
    const Outcome outcome = loop.run();
    print(name, scene, loop, outcome);
    INFO(name << " at " << scene.load);
    CHECK(loop.goodput() >= goodput);
    CHECK(outcome.fewest > 0);
    return outcome;
}

TEST_CASE("retry: an obedient client is let in with good probability, whatever the load") {
    for (const double load : {2.0, 5.0, 10.0}) {
        const Outcome outcome = play("obedient", {.load = load}, 0.95);
        CHECK(outcome.chance() >= 0.5);
        CHECK(outcome.attempts_per_success() <= 2);
    }
}

TEST_CASE("retry: that holds for a lane without a queue, for slow work, and without a pause") {
    for (const double load : {2.0, 5.0, 10.0}) {
        const LaneBudget no_queue{8, 0, Duration(0)};
        const Outcome bare = play("no queue", {.budget = no_queue, .load = load}, 0.85);
        CHECK(bare.chance() >= 0.3);
        const LaneBudget reports{3, 6, milliseconds(250)};
        const Outcome slow = play(
            "100 ms", {.budget = reports, .load = load, .think_ms = 100, .hold_ms = 100}, 0.95);
        CHECK(slow.attempts_per_success() <= 3);
        const Outcome eager = play("no pause", {.load = load, .think_ms = 0.01}, 0.95);
        CHECK(eager.attempts_per_success() <= 2);
    }
}

TEST_CASE("retry: clients that do not obey leave the permits as busy as those that do") {
    for (const double load : {2.0, 5.0, 10.0}) {
        play("own clock",
             {.load = load,
              .manners = Manners::on_its_own_clock,
              .manners_of_half = Manners::on_its_own_clock,
              .seconds = 20},
             0.95);
        play("at once",
             {.load = load,
              .manners = Manners::at_once,
              .manners_of_half = Manners::at_once,
              .seconds = 20},
             0.95);
    }
}

TEST_CASE("retry: paced, whoever retries at once costs about as much as who obeys") {
    for (const double load : {2.0, 5.0, 10.0}) {
        Scene scene{.paced = true,
                    .load = load,
                    .manners = Manners::at_once,
                    .manners_of_half = Manners::at_once,
                    .seconds = 20};
        const Outcome paced = play("at once", scene, 0.95);
        CHECK(paced.attempts_per_success() <= 2.5);
        scene.manners_of_half = Manners::obedient;
        play("half at once", scene, 0.95);
    }
}

}  // namespace
}  // namespace pgb::test

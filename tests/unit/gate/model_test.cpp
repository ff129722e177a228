#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "proxy/gate/gate.h"
#include "tests/support/catch.h"
#include "tests/unit/gate/gate_rules.h"

// The gate against a model that is written as the rules are spoken: a count, a deque and a loop.
// Random steps over a few lanes and clients; outcomes and counts must agree after each.

namespace pgb::test {
namespace {

struct Outcome {
    std::size_t client;
    std::string word;
    bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
    return out << outcome.client << ' ' << outcome.word;
}
using Outcomes = std::vector<Outcome>;

struct ModelLane {
    struct Waiting {
        std::size_t client;
        Instant arrived;
        Instant due;
    };
    LaneBudget budget;
    std::uint32_t running = 0;
    std::deque<Waiting> queue;

    // The earliest first, and of those together the one that came first.
    void end_overdue(Instant now, Outcomes& out) {
        for (;;) {
            const auto first =
                std::min_element(queue.begin(), queue.end(),
                                 [](const auto& a, const auto& b) { return a.due < b.due; });
            if (first == queue.end() || first->due > now) return;
            out.push_back({first->client, "deadline"});
            queue.erase(first);
        }
    }
    void grant(Outcomes& out) {
        while (running < budget.concurrency && !queue.empty()) {
            out.push_back({queue.front().client, "granted"});
            queue.pop_front();
            ++running;
        }
    }
    void expire(Instant now, Outcomes& out) {
        std::deque<Waiting> left;
        for (const Waiting& waiting : queue) {
            if (now - waiting.arrived >= budget.queue_wait) {
                out.push_back({waiting.client, "queue_timeout"});
            } else {
                left.push_back(waiting);
            }
        }
        queue = left;
    }
    // `too_long`: whether the gate expects it to wait beyond its deadline, if it has to wait.
    void arrive(std::size_t client, Instant now, Instant due, bool too_long, Outcomes& out) {
        if (due <= now) {
            out.push_back({client, "deadline"});
            return;
        }
        // With nobody waiting for a free permit the gate has no reason to look.
        if (running >= budget.concurrency || !queue.empty()) end_overdue(now, out);
        grant(out);
        if (running < budget.concurrency) {
            ++running;
            out.push_back({client, "admitted"});
        } else if (queue.size() >= budget.queue) {
            out.push_back({client, "queue_full"});
        } else if (budget.queue_wait == Duration::zero()) {
            out.push_back({client, "queue_timeout"});
        } else if (too_long) {
            out.push_back({client, "deadline"});
        } else {
            queue.push_back({client, now, due});
            out.push_back({client, "queued"});
        }
    }
    bool cancel(std::size_t client) {
        for (auto it = queue.begin(); it != queue.end(); ++it) {
            if (it->client != client) continue;
            queue.erase(it);
            return true;
        }
        return false;
    }
    Instant deadline() const {
        Instant earliest = Instant::never();
        for (const Waiting& waiting : queue) {
            earliest = std::min({earliest, waiting.arrived + budget.queue_wait, waiting.due});
        }
        return earliest;
    }
};

struct Client {
    Waiter waiter;
    Permit permit;
    std::size_t lane = 0;
};

class Race {
public:
    explicit Race(unsigned seed) : random_(seed), clients_(kClients) {
        for (std::size_t i = 0; i < kLanes; ++i) {
            model_.emplace_back().budget = {pick(4) + 1, pick(5), wait()};
            gate_.add_lane("lane " + std::to_string(i), model_[i].budget);
        }
    }
    ~Race() {
        for (Client& client : clients_) gate_.cancel(client.waiter, Leave::left);
    }

    void step() {
        const std::uint32_t choice = pick(100);
        Client& client = clients_[pick(kClients)];
        bool dispatched = false;
        expected_.clear();
        happened_.clear();
        if (choice < 45) {
            arrive(client);
        } else if (choice < 65) {
            release(client);
        } else if (choice < 72) {
            leave(client, Leave::cancelled);
        } else if (choice < 78) {
            leave(client, Leave::left);
        } else if (choice < 97) {
            dispatch();
            dispatched = true;
        } else if (choice < 99) {
            set_budget();
        } else {
            drain();
        }
        compare(dispatched);
    }

    void come_to_rest() {
        drain();
        for (Client& client : clients_) release(client);
        for (std::size_t i = 0; i < kLanes; ++i) {
            const LaneStats& stats = gate_.stats(static_cast<LaneId>(i));
            REQUIRE(stats.running == 0);
            REQUIRE(stats.waiting == 0);
        }
    }

    [[nodiscard]] std::uint64_t arrivals() const {
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < kLanes; ++i) all += gate_.stats(static_cast<LaneId>(i)).arrived;
        return all;
    }

private:
    static constexpr std::uint32_t kClients = 24;
    static constexpr std::size_t kLanes = 3;

    std::uint32_t pick(std::uint32_t below) {
        return static_cast<std::uint32_t>(random_() % below);
    }
    Duration wait() { return std::chrono::milliseconds(pick(6)); }
    // Half of them have none; some of the others are over already.
    Instant some_deadline() {
        if (pick(2) == 0) return Instant::never();
        return now_ + std::chrono::microseconds(500 * pick(20));
    }
    std::size_t index(const Waiter& waiter) const {
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            if (&clients_[i].waiter == &waiter) return i;
        }
        return clients_.size();
    }

    void settle() {
        for (Settled& settled : settled_) {
            const std::size_t i = index(*settled.waiter);
            happened_.push_back(
                {i, settled.granted ? "granted" : std::string(to_word(settled.reason))});
            clients_[i].permit = std::move(settled.permit);
        }
        settled_.clear();
    }

    void arrive(Client& client) {
        if (client.waiter.waiting() || client.permit.held()) return;
        const std::size_t i = index(client.waiter);
        client.lane = pick(kLanes);
        const auto lane = static_cast<LaneId>(client.lane);
        const Instant due = some_deadline();
        client.waiter.finish_by(due);
        Verdict verdict = gate_.arrive(lane, client.waiter, now_, settled_);
        settle();
        const bool too_long = verdict.arrival == Arrival::shed && due > now_ &&
                              verdict.reason == ShedReason::deadline;
        if (too_long) REQUIRE(gate_.expected_wait(lane, now_) > due - now_);
        model_[client.lane].arrive(i, now_, due, too_long, expected_);
        client.permit = std::move(verdict.permit);
        switch (verdict.arrival) {
            case Arrival::admitted: happened_.push_back({i, "admitted"}); break;
            case Arrival::queued: happened_.push_back({i, "queued"}); break;
            case Arrival::parked: happened_.push_back({i, "parked"}); break;
            case Arrival::shed:
                happened_.push_back({i, std::string(to_word(verdict.reason))});
                break;
        }
    }
    void release(Client& client) {
        if (!client.permit.held()) return;
        --model_[client.lane].running;
        client.permit.release();
    }
    void leave(Client& client, Leave why) {
        const bool waited = model_[client.lane].cancel(index(client.waiter));
        REQUIRE(client.waiter.waiting() == waited);
        gate_.cancel(client.waiter, why);
        REQUIRE(!client.waiter.waiting());
        if (why == Leave::left) release(client);
    }
    void dispatch() {
        now_ = now_ + std::chrono::microseconds(pick(4) * 500);
        for (ModelLane& lane : model_) {
            lane.end_overdue(now_, expected_);
            lane.grant(expected_);
            lane.expire(now_, expected_);
        }
        gate_.dispatch(now_, settled_);
        settle();
    }
    void set_budget() {
        const std::size_t i = pick(kLanes);
        model_[i].budget = {pick(5), pick(6), wait()};
        gate_.set_budget(static_cast<LaneId>(i), model_[i].budget);
        lowered_ = true;
    }
    void drain() {
        for (ModelLane& lane : model_) {
            for (const auto& waiting : lane.queue)
                expected_.push_back({waiting.client, "draining"});
            lane.queue.clear();
        }
        gate_.shed_all_waiting(ShedReason::draining, settled_);
        settle();
    }

    void compare(bool dispatched) {
        REQUIRE(happened_ == expected_);
        REQUIRE(broken_rules(gate_, lowered_, dispatched) == std::vector<std::string>{});
        Instant deadline = Instant::never();
        for (std::size_t i = 0; i < kLanes; ++i) {
            const LaneStats& stats = gate_.stats(static_cast<LaneId>(i));
            REQUIRE(stats.running == model_[i].running);
            REQUIRE(stats.waiting == model_[i].queue.size());
            deadline = std::min(deadline, model_[i].deadline());
            REQUIRE(gate_.expected_wait(static_cast<LaneId>(i), now_) >=
                    std::chrono::milliseconds(1));
        }
        REQUIRE(gate_.next_deadline() == deadline);
    }

    std::mt19937 random_;
    Gate gate_;
    std::vector<ModelLane> model_;
    std::vector<Client> clients_;
    std::vector<Settled> settled_;
    Outcomes expected_;
    Outcomes happened_;
    Instant now_;
    bool lowered_ = false;
};

TEST_CASE("gate: 50,000 random steps do what the rules say, for each of 8 seeds") {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        INFO("seed " << seed);
        Race race(seed);
        for (int i = 0; i < 50'000; ++i) race.step();
        race.come_to_rest();
        REQUIRE(race.arrivals() > 10'000);
    }
}

}  // namespace
}  // namespace pgb::test

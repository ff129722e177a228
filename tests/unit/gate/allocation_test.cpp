#include <vector>

#include "proxy/gate/gate.h"
#include "tests/bench/allocation_count.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

struct Client {
    Waiter waiter;
    Permit permit;
};

/// Every way through a lane: admitted, queued, shed for both reasons, granted, timed out,
/// cancelled, drained; and whatever else the driver asks in a turn.
void every_way(Gate& gate, LaneId lane, std::vector<Client>& clients, std::vector<Settled>& out,
               Instant now) {
    for (Client& client : clients) {
        client.permit = gate.arrive(lane, client.waiter, now, out).permit;
    }
    gate.cancel(clients[3].waiter, Leave::cancelled);
    clients[0].permit.release();
    gate.dispatch(now, out);
    for (Settled& settled : out) settled.permit.release();
    out.clear();
    gate.count_shed(lane, ShedReason::pool_timeout);
    gate.set_budget(lane, gate.budget(lane));
    (void)gate.next_deadline();
    (void)gate.expected_wait(lane, now);
    gate.dispatch(now + std::chrono::milliseconds(60), out);
    gate.shed_all_waiting(ShedReason::draining, out);
    out.clear();
    for (Client& client : clients) client.permit.release();
}

TEST_CASE("gate: nothing is allocated after its lanes were made") {
    Gate gate;
    const LaneId lane = gate.add_lane("oltp", {2, 4, std::chrono::milliseconds(50)});
    std::vector<Client> clients(8);
    std::vector<Settled> out;
    out.reserve(clients.size());
    const std::size_t before = allocation_count;
    Instant now;
    for (int i = 0; i < 1000; ++i) {
        every_way(gate, lane, clients, out, now);
        now = now + std::chrono::milliseconds(100);
    }
    CHECK(allocation_count - before == 0);
    const LaneStats& stats = gate.stats(lane);
    CHECK(stats.arrived == 8000);
    CHECK(stats.shed(ShedReason::queue_full) == 2000);
    CHECK(stats.shed(ShedReason::queue_timeout) == 1000);
    CHECK(stats.cancelled_while_queued == 1000);
    CHECK(stats.admitted_after_wait == 2000);
}

TEST_CASE("shadow: nothing is allocated once as many were there as may be") {
    Gate gate;
    const LaneId lane =
        gate.add_lane("oltp", {4, 8, std::chrono::microseconds(500)}, {.mode = LaneMode::shadow});
    std::vector<Waiter> waiters(32);
    std::vector<Permit> permits(32);
    std::vector<Settled> out;
    Instant now;
    const auto round = [&] {
        for (std::size_t i = 0; i < waiters.size(); ++i) {
            permits[i] = gate.arrive(lane, waiters[i], now, out).permit;
            now = now + std::chrono::microseconds(7);
        }
        for (Permit& permit : permits) permit.release();
        gate.dispatch(now, out);
        now = now + std::chrono::microseconds(300);
    };
    for (int i = 0; i < 20; ++i) round();
    const std::size_t before = allocation_count;
    for (int i = 0; i < 1000; ++i) round();
    CHECK(allocation_count - before == 0);
    CHECK(gate.shadow(lane)->arrived == 1020 * 32);
    CHECK(gate.shadow(lane)->shed(ShedReason::queue_full) > 0);
}

TEST_CASE("gate: nothing is allocated by those who are parked") {
    Gate gate;
    const LaneId lane = gate.add_lane("oltp", {1, 0, Duration(0)}, {.pace_retries = true});
    std::vector<Client> clients(8);
    std::vector<Settled> out;
    out.reserve(clients.size());
    const std::size_t before = allocation_count;
    Instant now;
    for (int i = 0; i < 1000; ++i) {
        for (int round = 0; round < 2; ++round) {
            for (Client& client : clients) {
                if (client.permit.held()) continue;
                Verdict verdict = gate.arrive(lane, client.waiter, now, out);
                if (verdict.arrival == Arrival::shed) {
                    gate.promise_return(lane, client.waiter, now, std::chrono::seconds(5), 0.5);
                }
                client.permit = std::move(verdict.permit);
            }
        }
        now = now + std::chrono::seconds(6);
        gate.dispatch(now, out);
        out.clear();
        for (Client& client : clients) client.permit.release();
    }
    CHECK(allocation_count - before == 0);
    CHECK(gate.returns(lane).parkings == 7000);
    CHECK(gate.returns(lane).parked == 0);
}

TEST_CASE("gate: the counting of allocations counts") {
    const std::size_t before = allocation_count;
    std::vector<int> grown;
    grown.reserve(3);
    CHECK(allocation_count - before == 1);
}

}  // namespace
}  // namespace pgb::test

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
    (void)gate.expected_wait(lane);
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

TEST_CASE("gate: the counting of allocations counts") {
    const std::size_t before = allocation_count;
    std::vector<int> grown;
    grown.reserve(3);
    CHECK(allocation_count - before == 1);
}

}  // namespace
}  // namespace pgb::test

#pragma once

#include <cstdint>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/base/log.h"
#include "proxy/gate/gate.h"

namespace pgb {

/// Logs what workloads in shadow would have refused: one line for each workload and ten seconds in
/// which there was something, with the counts since the line before.
class ShadowReport {
public:
    void look(const Gate& gate, Instant now, Log& log) {
        reported_.resize(gate.lane_count());
        for (std::size_t i = 0; i < gate.lane_count(); ++i) {
            const LaneId lane{static_cast<std::uint16_t>(i)};
            if (gate.shadow(lane) != nullptr) look_at(gate, lane, reported_[i], now, log);
        }
    }

private:
    struct Reported {
        std::uint64_t full = 0;
        std::uint64_t timeouts = 0;
        Instant next;
    };
    static constexpr Duration kInterval = std::chrono::seconds(10);

    static void look_at(const Gate& gate, LaneId lane, Reported& before, Instant now, Log& log) {
        if (now < before.next) return;
        const LaneStats& books = *gate.shadow(lane);
        const std::uint64_t full = gate.would_shed(lane, ShedReason::queue_full);
        const std::uint64_t timeouts = gate.would_shed(lane, ShedReason::queue_timeout);
        if (full == before.full && timeouts == before.timeouts) return;
        log.info("would_reject",
                 {{"workload", gate.name(lane)},
                  {"queue_full", static_cast<std::int64_t>(full - before.full)},
                  {"queue_timeout", static_cast<std::int64_t>(timeouts - before.timeouts)},
                  {"running", std::int64_t{books.running}},
                  {"waiting", std::int64_t{books.waiting}}});
        before = {full, timeouts, now + kInterval};
    }

    std::vector<Reported> reported_;
};

}  // namespace pgb

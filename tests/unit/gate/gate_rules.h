#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "proxy/gate/gate.h"

namespace pgb::test {

inline std::uint64_t sum(const LaneStats::ByReason& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// The invariants of gate.h and the books of lane_stats.h that are broken now. I1 and I2 hold only
/// as long as no budget was lowered, and I3 only after a dispatch: the caller says so.
inline std::vector<std::string> broken_rules(const Gate& gate, bool lowered, bool dispatched) {
    std::vector<std::string> broken;
    for (std::size_t i = 0; i < gate.lane_count(); ++i) {
        const auto id = static_cast<LaneId>(i);
        const LaneStats& s = gate.stats(id);
        const LaneBudget& b = gate.budget(id);
        const ReturnStats& r = gate.returns(id);
        const std::string lane = " in lane " + std::string(gate.name(id));
        const bool enforced = gate.rules(id).mode == LaneMode::enforce;
        if (!lowered && enforced && s.running > b.concurrency)
            broken.push_back("I1: running > B" + lane);
        if (!lowered && s.waiting > b.queue) broken.push_back("I2: waiting > Q" + lane);
        if (dispatched && s.waiting > 0 && (!enforced || s.running < b.concurrency)) {
            broken.push_back("I3: a permit is free after dispatch and someone waits" + lane);
        }
        if (s.arrived != s.admitted + s.waiting + sum(s.shed_arrivals) + s.cancelled_while_queued +
                             s.left_while_queued) {
            broken.push_back("I5: arrivals do not balance" + lane);
        }
        if (r.parkings != r.parked + r.unparked + r.cancelled_while_parked + r.left_while_parked) {
            broken.push_back("I5: parkings do not balance" + lane);
        }
        if (dispatched && !enforced && r.parked > 0) {
            broken.push_back("someone is parked though everybody is admitted" + lane);
        }
        if (s.admitted < s.running || s.admitted < s.admitted_after_wait) {
            broken.push_back("I5: more grants are in use than were given" + lane);
        }
        if (s.peak_running < s.running || s.peak_waiting < s.waiting) {
            broken.push_back("a peak is below what is" + lane);
        }
    }
    return broken;
}

}  // namespace pgb::test

#pragma once

#include <cstdint>

#include "proxy/base/instant.h"
#include "proxy/gate/lane_stats.h"

namespace pgb {

/// No wait for a permit is expected to be shorter.
inline constexpr Duration kShortestWait = std::chrono::milliseconds(1);

/// How long the permits of a lane were held of late, and so when the next will come back.
///
/// Permits are given back without being told the time (a destructor cannot be), so a release only
/// adds to two sums, and fold() turns the sums into a mean once a turn, when the time is known.
/// The sums wrap; their difference is right as long as the holds of one turn add up to less than
/// 2^63 ns, which is 292 years.
class Turnover {
public:
    void on_grant(Instant now) { last_grant_ = now; }

    void on_release(Instant granted_at) {
        ++released_;
        granted_at_sum_ += static_cast<std::uint64_t>(granted_at.since_start().count());
    }

    /// Takes what was released since the last fold into the mean. `now` is this turn's.
    void fold(Instant now) {
        if (released_ != 0) fold_released(now);
    }

    /// Time until `releases` more permits have come back while `running` are out. A lane in which
    /// nothing has been granted for longer than that is stuck behind slow work: then it is as long
    /// again as it has been stuck.
    [[nodiscard]] Duration expected(std::uint64_t releases, std::uint32_t running,
                                    Instant now) const;

    /// How long one that arrived now would wait in a lane of `limit` permits, were its queue without
    /// end; at least 1 ms.
    [[nodiscard]] Duration expected_wait(const LaneStats& stats, std::uint32_t limit,
                                         Instant now) const;

    /// Recent mean of the time a permit was held.
    [[nodiscard]] Duration mean_hold() const { return mean_hold_; }

private:
    void fold_released(Instant now);

    // A guess that lasts until the first permit comes back.
    static constexpr Duration kFirstMean = std::chrono::milliseconds(10);

    std::uint64_t released_ = 0;
    std::uint64_t granted_at_sum_ = 0;
    Instant last_grant_;
    Duration mean_hold_ = kFirstMean;
};

}  // namespace pgb

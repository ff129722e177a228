#include "proxy/gate/turnover.h"

#include <algorithm>

namespace pgb {

namespace {
// Work that holds a permit for longer says nothing about when the next permit comes back, and the
// bound keeps every product below in range.
constexpr Duration kLongestHold = std::chrono::hours(1);
// One release moves the mean by an eighth of its distance; n of a turn by n / (n + 7). A guess:
// fast enough to follow a change within some tens of transactions.
constexpr double kMemory = 7.0;
}  // namespace

void Turnover::fold_released(Instant now) {
    const auto end = static_cast<std::uint64_t>(now.since_start().count());
    const auto held_sum =
        static_cast<double>(static_cast<Duration::rep>(end * released_ - granted_at_sum_));
    const auto count = static_cast<double>(static_cast<Duration::rep>(released_));
    const auto mean = static_cast<double>(mean_hold_.count());
    const double moved = mean + (held_sum - mean * count) / (count + kMemory);
    const auto longest = static_cast<double>(kLongestHold.count());
    mean_hold_ = Duration(static_cast<Duration::rep>(std::clamp(moved, 0.0, longest)));
    released_ = 0;
    granted_at_sum_ = 0;
}

Duration Turnover::expected(std::uint64_t releases, std::uint32_t running, Instant now) const {
    const double each = static_cast<double>(mean_hold_.count()) / std::max(running, 1U);
    const auto longest = static_cast<double>(kLongestHold.count());
    const double all = std::min(each * static_cast<double>(releases), longest);
    const Duration stuck = std::min(now - last_grant_, kLongestHold);
    return std::max(Duration(static_cast<Duration::rep>(all)), stuck);
}

Duration Turnover::expected_wait(const LaneStats& stats, std::uint32_t limit, Instant now) const {
    const std::uint64_t ahead = std::uint64_t{stats.running} + stats.waiting + 1;
    if (ahead <= limit) return kShortestWait;
    return std::max(kShortestWait, expected(ahead - limit, stats.running, now));
}

}  // namespace pgb

#pragma once

#include <chrono>
#include <cstdint>

namespace pgb {

/// A length of time. Raw numbers with a unit in their name stand only at the edges.
using Duration = std::chrono::nanoseconds;

/// A point on the monotonic clock. Pure code is handed one; only proxy/io reads the clock.
class Instant {
public:
    constexpr Instant() = default;
    constexpr explicit Instant(Duration since_start) : since_start_(since_start) {}

    /// Later than every instant a clock can give: "no deadline".
    static constexpr Instant never() { return Instant(Duration::max()); }

    [[nodiscard]] constexpr Duration since_start() const { return since_start_; }
    [[nodiscard]] constexpr bool is_never() const { return since_start_ == Duration::max(); }

    constexpr auto operator<=>(const Instant&) const = default;

    /// Saturates at never(), so that a wait of "for ever" can be added to any instant.
    friend constexpr Instant operator+(Instant at, Duration wait) {
        if (at.is_never() || wait >= Duration::max() - at.since_start_) return never();
        return Instant(at.since_start_ + wait);
    }
    friend constexpr Duration operator-(Instant later, Instant earlier) {
        return later.since_start_ - earlier.since_start_;
    }

private:
    Duration since_start_{0};
};

}  // namespace pgb

#pragma once

#include <chrono>
#include <cstdint>

#include "config/keys.h"

/// Ranges that the rows of keys_*.cpp use. Where no document gives a bound, the upper end is a guess
/// that nobody sensible reaches; it stops a slip of a unit or a digit.
namespace pgb::config {

template <typename Rep, typename Period>
constexpr std::uint64_t ns(std::chrono::duration<Rep, Period> length) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(length).count());
}

inline constexpr std::uint64_t kDurationMax = ns(std::chrono::hours(720));
inline constexpr Range kAnyDuration{0, kDurationMax};
inline constexpr Range kPositiveDuration{ns(std::chrono::milliseconds(1)), kDurationMax};
/// The kernel's TCP timers count whole seconds or milliseconds in 32 bits; 9 h is its own maximum
/// for keep-alive (32767 s).
inline constexpr Range kTcpDuration{0, ns(std::chrono::seconds(32767))};

/// PostgreSQL's own bound of max_connections.
inline constexpr std::uint64_t kBackendsMax = 262143;
inline constexpr std::uint64_t kClientsMax = 1'000'000;
inline constexpr Range kBytes{std::uint64_t{16} << 10, std::uint64_t{1} << 30};
inline constexpr Range kPort{0, 65535};

}  // namespace pgb::config

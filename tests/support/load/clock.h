#pragma once

#include <chrono>

#include "proxy/base/instant.h"

namespace pgb::load {

/// The monotonic clock, read afresh: a latency is the difference of two of these.
inline Instant read_clock() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

inline double to_ms(Duration span) {
    return std::chrono::duration<double, std::milli>(span).count();
}
inline double to_seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace pgb::load

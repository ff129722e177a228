#pragma once

#include "proxy/base/instant.h"

namespace pgb {

/// CLOCK_MONOTONIC, for threads that have no loop. On the loop's thread: Loop::now().
[[nodiscard]] Instant monotonic_now();

/// Seconds of Unix time, to be told to people; nothing decides by it.
[[nodiscard]] double unix_seconds();

}  // namespace pgb

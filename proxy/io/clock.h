#pragma once

#include "proxy/base/instant.h"

namespace pgb {

/// CLOCK_MONOTONIC, for threads that have no loop. On the loop's thread: Loop::now().
[[nodiscard]] Instant monotonic_now();

}  // namespace pgb

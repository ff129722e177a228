#pragma once

#include <string_view>

namespace pgb {

/// Writes the failed condition to standard error, then aborts.
[[noreturn]] void check_failed(std::string_view condition, std::string_view file, int line);

}  // namespace pgb

/// A condition that only a bug of ours can break. Kept in release builds: going on with a broken
/// invariant would lie about outcomes, which is worse than a restart.
#define PGB_CHECK(condition) \
    (static_cast<bool>(condition) ? void(0) : ::pgb::check_failed(#condition, __FILE__, __LINE__))

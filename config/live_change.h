#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/diff.h"
#include "config/model.h"

namespace pgb::config {

/// What somebody wants changed in a workload of a running program, past the file.
struct LiveChange {
    std::string workload;
    /// Keys of kLiveKeys with their values as the file would write them: `8`, `250ms`, `shadow`.
    std::vector<std::pair<std::string, std::string>> values;
};

/// What may be changed that way: the numbers that are turned in the middle of an overload.
inline constexpr std::string_view kLiveKeys[] = {"concurrency", "queue", "queue_wait", "mode"};

enum class LiveFault : std::uint8_t {
    none,
    unknown_workload,
    unknown_key,  ///< not of kLiveKeys, given twice, or none given at all
    bad_value,    ///< what the file's reader would complain about
};

/// A change that was thought through and not made.
struct LivePlan {
    LiveFault fault = LiveFault::none;
    std::string message = {};                ///< of the fault, with the words of a complaint
    std::string suggestion = {};             ///< what was probably meant, or empty
    std::vector<Change> changes = {};        ///< in the words of a reload; none: all is so already
    std::vector<std::string> warnings = {};  ///< what the file's reader would warn of that is new
    Config wanted = {};                      ///< as a file would have it; only without a fault
};

/// Judges a change by the rules of the file. `in_force`: as a file would have it. Pure.
[[nodiscard]] LivePlan plan_live_change(const Config& in_force, const LiveChange& change);

}  // namespace pgb::config

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pgb {

/// What a lane does with its budget.
enum class LaneMode : std::uint8_t {
    enforce,  ///< Admits, queues and sheds by it.
    shadow,   ///< Admits everybody, and counts what it would have done (shadow_lane.h).
    off,      ///< Admits everybody.
};

inline constexpr std::array kLaneModes = {LaneMode::enforce, LaneMode::shadow, LaneMode::off};

constexpr std::string_view to_word(LaneMode mode) {
    switch (mode) {
        case LaneMode::enforce: return "enforce";
        case LaneMode::shadow: return "shadow";
        case LaneMode::off: return "off";
    }
    return "unknown";
}

}  // namespace pgb

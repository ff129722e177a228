#pragma once

#include <cstddef>
#include <string_view>

namespace pgb {

/// Reads every byte whatever it finds: an early end would tell a guesser how many bytes are right.
/// Only whether the lengths are equal shows in the time it takes.
[[nodiscard]] inline bool equal_in_constant_time(std::string_view one, std::string_view other) {
    if (one.size() != other.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        const unsigned mine = static_cast<unsigned char>(one[i]);
        const unsigned theirs = static_cast<unsigned char>(other[i]);
        difference |= mine ^ theirs;
    }
    return difference == 0;
}

}  // namespace pgb

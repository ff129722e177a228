#pragma once

#include <cstdint>

#include "proxy/base/instant.h"

namespace pgb {

/// Spreads durations, so that what was started together does not end together. Seeded, so that
/// tests and simulations repeat; nothing secret depends on it (splitmix64).
class Jitter {
public:
    explicit Jitter(std::uint64_t seed) : state_(seed) {}

    /// `length` changed by at most `percent` of a hundred up or down, evenly.
    Duration around(Duration length, std::uint32_t percent) {
        const std::int64_t spread = length.count() / 100 * static_cast<std::int64_t>(percent);
        if (spread <= 0) return length;
        const auto range = static_cast<std::uint64_t>(spread) * 2 + 1;
        return length + Duration(static_cast<std::int64_t>(next() % range) - spread);
    }

private:
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
        return mixed ^ (mixed >> 31U);
    }

    std::uint64_t state_;
};

}  // namespace pgb

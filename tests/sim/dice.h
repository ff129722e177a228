#pragma once

#include <cstdint>

namespace pgb::sim {

/// Where all chance of a run comes from: equal seeds give equal runs on every machine.
class Dice {
public:
    explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x1234567U) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    /// 0 .. below-1.
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }
    /// True once in `times`.
    bool once_in(std::uint32_t times) { return below(times) == 0; }

private:
    std::uint64_t state_;
};

}  // namespace pgb::sim

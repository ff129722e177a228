#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/sim/world.h"

namespace {

using namespace pgb::sim;

int usage() {
    std::puts(
        "usage: sim [--seed N] [--seeds COUNT] [--steps M] [--trace]\n"
        "Runs COUNT simulations from seed N on; prints the seed of the first that breaks a rule.");
    return 2;
}

// Small worlds break rules that large ones hide; every seed has its own shape.
Settings settings_of(std::uint64_t seed, int steps, bool trace) {
    Dice dice(seed ^ 0xABCDEFU);
    Settings settings;
    settings.seed = seed;
    settings.steps = steps;
    settings.seats = 1 + static_cast<int>(dice.below(8));
    settings.concurrency = 1 + dice.below(4);
    settings.queue = dice.below(5);
    settings.pool_size = 1 + dice.below(4);
    settings.cancel_once_in = 5 + dice.below(100);
    settings.leave_once_in = 30 + dice.below(300);
    settings.death_once_in = 100 + dice.below(5000);
    settings.stuck_once_in = 300 + dice.below(20000);
    settings.drains = dice.once_in(4);
    settings.residents = dice.once_in(3);
    settings.trace = trace;
    return settings;
}

}  // namespace

int main(int count, char** arguments) {
    std::uint64_t seed = 1;
    std::uint64_t seeds = 1;
    int steps = 3000;
    bool trace = false;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        if (word == "--trace") {
            trace = true;
        } else if (i + 1 < count && word == "--seed") {
            seed = std::strtoull(arguments[++i], nullptr, 10);
        } else if (i + 1 < count && word == "--seeds") {
            seeds = std::strtoull(arguments[++i], nullptr, 10);
        } else if (i + 1 < count && word == "--steps") {
            steps = std::atoi(arguments[++i]);
        } else {
            return usage();
        }
    }
    for (std::uint64_t current = seed; current < seed + seeds; ++current) {
        World world(settings_of(current, steps, trace));
        const auto broken = world.run();
        if (broken.empty()) continue;
        std::printf("sim --seed %llu --steps %d\n", static_cast<unsigned long long>(current),
                    steps);
        for (const std::string& what : broken) std::printf("  %s\n", what.c_str());
        return 1;
    }
    return 0;
}

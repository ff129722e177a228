#pragma once

#include <functional>
#include <utility>

#include "proxy/io/loop.h"

namespace pgb {

/// Runs the loop until the condition holds at the end of a turn; false when it does not in time.
/// The bound is for a broken test only: nothing waits for it when all is well.
inline bool run_until(Loop& loop, const std::function<bool()>& condition,
                      Duration bound = std::chrono::seconds(20)) {
    if (condition()) return true;
    bool held = false;
    Timer deadline(loop, [&loop] { loop.stop(); });
    deadline.arm(loop.now() + bound);
    loop.set_turn_end([&] {
        if (!held && condition()) {
            held = true;
            loop.stop();
        }
    });
    loop.run();
    loop.set_turn_end(nullptr);
    return held;
}

/// As many turns as it takes for closed handles to go.
inline void run_turns(Loop& loop, int count) {
    run_until(loop, [&loop, &count] {
        loop.again();
        return count-- <= 0;
    });
}

}  // namespace pgb

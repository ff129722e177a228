#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "proxy/base/instant.h"
#include "proxy/io/loop.h"

namespace pgb {

/// Lets another thread have something done on the loop's thread, and wait for what came of it.
template <typename T>
class LoopErrand {
public:
    /// `work` runs on the loop's thread, between two events. Dies after the threads that ask, and
    /// not before the last turn of the loop.
    LoopErrand(Loop& loop, std::function<T()> work) : loop_(loop), work_(std::move(work)) {}

    /// For any thread but the loop's. Nothing: the loop did not come to it in time, or is ending;
    /// then it may still be done.
    [[nodiscard]] std::optional<T> run(Duration bound = std::chrono::seconds(5)) {
        return run(work_, bound);
    }
    /// The same for work that is another each time.
    [[nodiscard]] std::optional<T> run(std::function<T()> work, Duration bound) {
        auto asked = std::make_shared<Asked>();
        loop_.post([work = std::move(work), asked] {
            T made = work();
            {
                const std::lock_guard lock(asked->mutex);
                asked->result = std::move(made);
            }
            asked->done.notify_all();
        });
        std::unique_lock lock(asked->mutex);
        asked->done.wait_for(lock, bound, [&] { return asked->result.has_value(); });
        return asked->result;
    }

private:
    // Outlives whoever asked, if that one no longer waits.
    struct Asked {
        std::mutex mutex;
        std::condition_variable done;
        std::optional<T> result;
    };

    Loop& loop_;
    std::function<T()> work_;
};

}  // namespace pgb

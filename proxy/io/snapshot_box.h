#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "proxy/io/loop.h"
#include "proxy/io/waker.h"

namespace pgb {

/// The handover of a copy of the state from the loop's thread to others: they see snapshots only.
///
/// `make` runs on the loop's thread, whenever somebody asks for a fresh one. Made and destroyed
/// there too, after the threads that ask have ended.
template <typename T>
class SnapshotBox {
public:
    SnapshotBox(Loop& loop, std::function<T()> make)
        : make_(std::move(make)), waker_(loop, [this] { publish(); }) {}

    /// For the loop's thread: puts a new snapshot out.
    void publish() {
        T made = make_();
        {
            const std::lock_guard lock(mutex_);
            snapshot_ = std::move(made);
            ++version_;
        }
        published_.notify_all();
    }

    /// For any thread: the newest snapshot; empty before the first.
    [[nodiscard]] std::optional<T> latest() const {
        const std::lock_guard lock(mutex_);
        return snapshot_;
    }

    /// For any thread but the loop's: asks the loop for a new snapshot and waits for it, at most
    /// `bound`; past it, the newest there is.
    [[nodiscard]] std::optional<T> fresh(Duration bound = std::chrono::seconds(1)) {
        std::unique_lock lock(mutex_);
        const std::uint64_t seen = version_;
        waker_.wake();
        published_.wait_for(lock, bound, [&] { return version_ != seen; });
        return snapshot_;
    }

private:
    std::function<T()> make_;
    mutable std::mutex mutex_;
    std::condition_variable published_;
    std::optional<T> snapshot_;
    std::uint64_t version_ = 0;
    Waker waker_;
};

}  // namespace pgb

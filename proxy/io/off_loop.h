#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace pgb {

class Loop;

/// A piece of work that takes longer than an event loop may be kept.
class OffLoopWork {
public:
    virtual ~OffLoopWork() = default;
    /// On a thread of libuv's pool: touches nothing but what belongs to this object.
    virtual void run() = 0;
    /// On the loop's thread, in the phase of the events, when run() has returned.
    virtual void done() = 0;
};

/// Runs work on libuv's thread pool, a few at once and the others in a queue: the pool's four threads
/// also resolve host names, and the machine has other things to do. How much is queued is bounded by
/// whoever asks.
class OffLoop {
public:
    OffLoop(Loop& loop, std::size_t at_once_max);
    /// What waits is dropped; of what runs nobody is told.
    ~OffLoop();
    OffLoop(const OffLoop&) = delete;
    OffLoop& operator=(const OffLoop&) = delete;

    enum class Place { first, last };
    void run(std::unique_ptr<OffLoopWork> work, Place place = Place::last);

    [[nodiscard]] std::size_t running_count() const { return running_.size(); }
    [[nodiscard]] std::size_t waiting_count() const { return waiting_.size(); }

private:
    struct Running;
    void start_more();
    void on_done(Running& running);

    Loop& loop_;
    std::size_t at_once_max_;
    std::deque<std::unique_ptr<OffLoopWork>> waiting_;
    std::vector<Running*> running_;
};

}  // namespace pgb

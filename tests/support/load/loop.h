#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "proxy/base/instant.h"

namespace pgb::load {

class Loop;

/// What a descriptor's readiness is told to. Must outlive its watch.
class Watcher {
public:
    virtual void on_io(std::uint32_t epoll_events) = 0;

protected:
    ~Watcher() = default;
};

/// A one-shot alarm. Lives at least as long as the loop runs; arming again replaces.
class Timer {
public:
    Timer(Loop& loop, std::function<void()> fire) : loop_(loop), fire_(std::move(fire)) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() { disarm(); }

    void arm_at(Instant when);
    void arm_after(Duration span);
    void disarm() { armed_as_ = 0; }
    [[nodiscard]] bool is_armed() const { return armed_as_ != 0; }

private:
    friend class Loop;
    Loop& loop_;
    std::function<void()> fire_;
    std::uint64_t armed_as_ = 0;
};

/// One epoll set and its timers, for one thread. Timers are kept to the microsecond
/// (epoll_pwait2), not to epoll_wait's millisecond.
class Loop {
public:
    Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;
    ~Loop();

    void watch(int fd, std::uint32_t epoll_events, Watcher& watcher);
    void change(int fd, std::uint32_t epoll_events, Watcher& watcher);
    void unwatch(int fd);

    /// Runs until stop() or `end`, whichever is first.
    void run_until(Instant end);
    /// Runs until `done()` holds, asked after each turn; false when `end` came first.
    bool run_until(Instant end, const std::function<bool()>& done);
    void stop() { stopped_ = true; }

private:
    friend class Timer;
    struct Alarm {
        Instant when;
        std::uint64_t armed_as = 0;
        Timer* timer = nullptr;
        bool operator>(const Alarm& other) const {
            return when != other.when ? when > other.when : armed_as > other.armed_as;
        }
    };

    void turn(Instant end);
    void fire_due_timers();

    int epoll_fd_ = -1;
    std::uint64_t last_armed_ = 0;
    std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;
    bool stopped_ = false;
};

}  // namespace pgb::load

#pragma once

#include <functional>
#include <memory>

#include "proxy/base/instant.h"

struct uv_loop_s;
struct uv_timer_s;

namespace pgb {

/// The event loop of one thread, and its clock.
///
///     timers -> wait -> readiness callbacks, posted functions -> turn end -> closed handles die
///        ^                                                                          |
///        '--------------------------------------------------------------------------'
///
/// One round of this is a turn. Invariants:
///   L1  the turn-end hook runs exactly once a turn, after every event of that turn was delivered;
///       a timer that fires gets its turn end before the loop waits again.
///   L2  now() does not change between the first question of a turn's events and its turn end.
///   L3  functions given to post() run in order, on the loop's thread, in the phase of the events.
///
/// Everything but post() belongs to the thread that runs the loop. Objects of this folder that are
/// given a loop must die before it does.
class Loop {
public:
    Loop();
    /// Closes what is left. Functions posted and not run yet are dropped. Waits at most a second
    /// for work in libuv's thread pool (a resolver that hangs); past it the loop's memory is leaked
    /// knowingly, as that work will still write to it.
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// The time of this turn: CLOCK_MONOTONIC, nanoseconds, read at most once a turn and only when
    /// somebody asks.
    [[nodiscard]] Instant now() const;

    /// Runs until stop().
    void run();
    /// Ends run() after this turn; before run(): makes it return at once.
    void stop();

    /// Called once a turn (L1). Replaces the hook of before.
    void set_turn_end(std::function<void()> hook);
    /// The next wait does not block: somebody left work for the turn after this one.
    void again();

    /// Thread-safe: runs `work` on the loop's thread and wakes the loop for it.
    void post(std::function<void()> work);

    [[nodiscard]] uv_loop_s* raw() const;

    struct State;

private:
    State* state_;
};

/// Calls back once at or after an instant; armed again, it forgets the instant of before. The
/// program needs one for its earliest deadline: arming costs no system call.
class Timer {
public:
    Timer(Loop& loop, std::function<void()> callback);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    /// Fires in the first turn at or after `at`, never before; the operating system's wait has
    /// milliseconds, so up to one late. An instant that has passed fires in the next turn;
    /// Instant::never() disarms.
    void arm(Instant at);
    void disarm();
    [[nodiscard]] bool is_armed() const { return !at_.is_never(); }
    /// The instant it is armed for, or never().
    [[nodiscard]] Instant at() const { return at_; }

private:
    static void on_fire(uv_timer_s* handle);

    Loop& loop_;
    std::function<void()> callback_;
    Instant at_ = Instant::never();
    uv_timer_s* handle_;
};

}  // namespace pgb

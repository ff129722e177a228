#include "tests/support/load/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "proxy/base/check.h"
#include "tests/support/load/clock.h"

namespace pgb::load {

void Timer::arm_at(Instant when) {
    armed_as_ = ++loop_.last_armed_;
    loop_.alarms_.push({when, armed_as_, this});
}

void Timer::arm_after(Duration span) { arm_at(read_clock() + span); }

Loop::Loop() : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)) { PGB_CHECK(epoll_fd_ >= 0); }

Loop::~Loop() { ::close(epoll_fd_); }

void Loop::watch(int fd, std::uint32_t epoll_events, Watcher& watcher) {
    epoll_event event{};
    event.events = epoll_events;
    event.data.ptr = &watcher;
    PGB_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0);
}

void Loop::change(int fd, std::uint32_t epoll_events, Watcher& watcher) {
    epoll_event event{};
    event.events = epoll_events;
    event.data.ptr = &watcher;
    PGB_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) == 0);
}

void Loop::unwatch(int fd) {
    epoll_event event{};
    PGB_CHECK(epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, &event) == 0);
}

void Loop::run_until(Instant end) {
    run_until(end, [] { return false; });
}

bool Loop::run_until(Instant end, const std::function<bool()>& done) {
    stopped_ = false;
    while (!stopped_) {
        if (done()) return true;
        if (read_clock() >= end) return false;
        turn(end);
    }
    return done();
}

void Loop::turn(Instant end) {
    const Instant wake = alarms_.empty() ? end : std::min(end, alarms_.top().when);
    const Duration left = std::max(wake - read_clock(), Duration(0));
    timespec timeout{};
    timeout.tv_sec = static_cast<std::time_t>(left.count() / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);

    std::array<epoll_event, 256> events{};
    const int count =
        epoll_pwait2(epoll_fd_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
    // A watcher that an earlier event of the same turn has closed reads from no socket, or from
    // its new one and finds nothing there: watchers live as long as the loop and reads never block.
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        static_cast<Watcher*>(event.data.ptr)->on_io(event.events);
    }
    fire_due_timers();
}

// Bounded by the alarms that were due at the start: a timer that arms itself again for "now" must
// not starve the sockets.
void Loop::fire_due_timers() {
    const Instant now = read_clock();
    const std::uint64_t newest = last_armed_;
    while (!alarms_.empty() && alarms_.top().when <= now && alarms_.top().armed_as <= newest) {
        const Alarm alarm = alarms_.top();
        alarms_.pop();
        if (alarm.timer->armed_as_ != alarm.armed_as) continue;
        alarm.timer->armed_as_ = 0;
        alarm.timer->fire_();
    }
}

}  // namespace pgb::load

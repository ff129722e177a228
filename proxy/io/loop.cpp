#include "proxy/io/loop.h"

#include <time.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "proxy/base/check.h"
#include "proxy/io/uv_handle.h"

namespace pgb {

struct Loop::State {
    uv_loop_t loop{};
    uv_prepare_t before_wait{};
    uv_check_t after_events{};
    uv_idle_t no_wait{};
    uv_async_t wake{};
    std::function<void()> turn_end;
    Instant now;
    bool clock_is_stale = true;

    std::mutex mutex;
    std::vector<std::function<void()>> posted;  // Guarded by mutex.
    std::vector<std::function<void()>> running;
};

namespace {

using namespace std::chrono_literals;

// How long a loop that goes away waits for libuv's thread pool; a hanging resolver can take more
// than anybody who stops a program wants to wait.
constexpr std::uint64_t kFarewellMs = 1000;

// Not inlined: now() is asked twenty times for each time the clock is read, and would guard its stack each time.
[[gnu::noinline]] Instant read_clock() {
    timespec time{};
    PGB_CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    return Instant(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

Loop::State& state_of(void* data) { return *static_cast<Loop::State*>(data); }

void on_before_wait(uv_prepare_t* handle) { state_of(handle->data).clock_is_stale = true; }

void on_after_events(uv_check_t* handle) {
    Loop::State& state = state_of(handle->data);
    uv_idle_stop(&state.no_wait);
    if (state.turn_end) state.turn_end();
    // Timers of the next turn run before its wait and must not see this turn's time.
    state.clock_is_stale = true;
}

void run_posted(uv_async_t* handle) {
    Loop::State& state = state_of(handle->data);
    {
        const std::lock_guard lock(state.mutex);
        std::swap(state.posted, state.running);
    }
    for (std::function<void()>& work : state.running) work();
    state.running.clear();
}

void close_if_open(uv_handle_t* handle, void*) {
    if (!uv_is_closing(handle)) uv_close(handle, nullptr);
}

// Runs what is needed to let closed handles and finished thread-pool work go.
bool wind_down(Loop::State& state) {
    uv_loop_t& loop = state.loop;
    uv_walk(&loop, close_if_open, nullptr);
    uv_run(&loop, UV_RUN_NOWAIT);
    if (uv_loop_close(&loop) == 0) return true;
    uv_timer_t bound{};
    uv_timer_init(&loop, &bound);
    uv_timer_start(
        &bound, [](uv_timer_t* timer) { uv_stop(timer->loop); }, kFarewellMs, 0);
    uv_unref(reinterpret_cast<uv_handle_t*>(&bound));
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_close(reinterpret_cast<uv_handle_t*>(&bound), nullptr);
    uv_run(&loop, UV_RUN_NOWAIT);
    return uv_loop_close(&loop) == 0;
}

}  // namespace

Loop::Loop() : state_(new State) {
    State& s = *state_;
    PGB_CHECK(uv_loop_init(&s.loop) == 0);
    PGB_CHECK(uv_async_init(&s.loop, &s.wake, run_posted) == 0);
    uv_prepare_init(&s.loop, &s.before_wait);
    uv_check_init(&s.loop, &s.after_events);
    uv_idle_init(&s.loop, &s.no_wait);
    s.wake.data = s.before_wait.data = s.after_events.data = s.no_wait.data = &s;
    uv_prepare_start(&s.before_wait, on_before_wait);
    uv_check_start(&s.after_events, on_after_events);
    // The loop's own hooks give it nothing to wait for.
    uv_unref(reinterpret_cast<uv_handle_t*>(&s.before_wait));
    uv_unref(reinterpret_cast<uv_handle_t*>(&s.after_events));
}

Loop::~Loop() {
    state_->turn_end = nullptr;
    // Work of the thread pool that has not ended writes to the loop when it does.
    if (wind_down(*state_)) delete state_;
}

Instant Loop::now() const {
    if (state_->clock_is_stale) {
        state_->now = read_clock();
        state_->clock_is_stale = false;
    }
    return state_->now;
}

void Loop::run() { uv_run(&state_->loop, UV_RUN_DEFAULT); }

void Loop::stop() { uv_stop(&state_->loop); }

void Loop::set_turn_end(std::function<void()> hook) { state_->turn_end = std::move(hook); }

void Loop::again() {
    uv_idle_start(&state_->no_wait, [](uv_idle_t*) {});
}

void Loop::post(std::function<void()> work) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->posted.push_back(std::move(work));
    }
    uv_async_send(&state_->wake);
}

uv_loop_s* Loop::raw() const { return &state_->loop; }

Timer::Timer(Loop& loop, std::function<void()> callback)
    : loop_(loop), callback_(std::move(callback)), handle_(new uv_timer_t) {
    PGB_CHECK(uv_timer_init(loop.raw(), handle_) == 0);
    handle_->data = this;
}

Timer::~Timer() { close_and_delete(handle_); }

void Timer::arm(Instant at) {
    if (at == at_) return;
    at_ = at;
    if (at.is_never()) {
        uv_timer_stop(handle_);
        return;
    }
    // libuv's time is CLOCK_MONOTONIC in whole milliseconds, rounded down and read earlier: a due
    // time that is rounded up can't fire early.
    const auto due = std::chrono::ceil<std::chrono::milliseconds>(at.since_start()).count();
    const auto due_ms = static_cast<std::uint64_t>(due > 0 ? due : 0);
    const std::uint64_t now_ms = uv_now(loop_.raw());
    uv_timer_start(handle_, on_fire, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

void Timer::disarm() { arm(Instant::never()); }

void Timer::on_fire(uv_timer_s* handle) {
    auto& timer = *static_cast<Timer*>(handle->data);
    timer.at_ = Instant::never();
    // libuv runs timers before it waits; without this, what the callback did would get its turn end
    // only after the next event.
    timer.loop_.again();
    timer.callback_();
}

}  // namespace pgb

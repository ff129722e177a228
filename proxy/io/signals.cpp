#include "proxy/io/signals.h"

#include <csignal>
#include <iterator>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/uv_handle.h"

namespace pgb {

namespace {
constexpr int kWatched[] = {SIGTERM, SIGINT, SIGHUP};
}  // namespace

Signals::Signals(Loop& loop, std::function<void(int signal)> callback)
    : callback_(std::move(callback)) {
    static_assert(std::size(kWatched) == std::extent_v<decltype(handles_)>);
    for (std::size_t i = 0; i < std::size(kWatched); ++i) {
        auto* handle = handles_[i] = new uv_signal_t;
        PGB_CHECK(uv_signal_init(loop.raw(), handle) == 0);
        handle->data = this;
        uv_signal_start(
            handle,
            [](uv_signal_t* caught, int number) {
                static_cast<Signals*>(caught->data)->callback_(number);
            },
            kWatched[i]);
        uv_unref(reinterpret_cast<uv_handle_t*>(handle));
    }
}

Signals::~Signals() {
    for (uv_signal_t* handle : handles_) close_and_delete(handle);
    for (const int number : kWatched) std::signal(number, SIG_IGN);
}

void ignore_sigpipe() { PGB_CHECK(std::signal(SIGPIPE, SIG_IGN) != SIG_ERR); }

}  // namespace pgb

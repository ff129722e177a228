#include "proxy/io/off_loop.h"

#include <uv.h>

#include <algorithm>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/loop.h"

namespace pgb {

/// Lives until libuv gives it back, which may be after the queue has gone.
struct OffLoop::Running {
    uv_work_t request{};
    OffLoop* owner = nullptr;
    std::unique_ptr<OffLoopWork> work;
};

OffLoop::OffLoop(Loop& loop, std::size_t at_once_max) : loop_(loop), at_once_max_(at_once_max) {}

OffLoop::~OffLoop() {
    for (Running* running : running_) {
        running->owner = nullptr;
        uv_cancel(reinterpret_cast<uv_req_t*>(&running->request));
    }
}

void OffLoop::run(std::unique_ptr<OffLoopWork> work, Place place) {
    if (place == Place::first) {
        waiting_.push_front(std::move(work));
    } else {
        waiting_.push_back(std::move(work));
    }
    start_more();
}

void OffLoop::start_more() {
    while (!waiting_.empty() && running_.size() < at_once_max_) {
        auto running = std::make_unique<Running>();
        running->owner = this;
        running->work = std::move(waiting_.front());
        waiting_.pop_front();
        running->request.data = running.get();
        const auto on_thread = [](uv_work_t* request) {
            static_cast<Running*>(request->data)->work->run();
        };
        const auto on_loop = [](uv_work_t* request, int) {
            const std::unique_ptr<Running> ended(static_cast<Running*>(request->data));
            if (ended->owner != nullptr) ended->owner->on_done(*ended);
        };
        PGB_CHECK(uv_queue_work(loop_.raw(), &running->request, on_thread, on_loop) == 0);
        running_.push_back(running.release());
    }
}

void OffLoop::on_done(Running& running) {
    running_.erase(std::find(running_.begin(), running_.end(), &running));
    start_more();
    running.work->done();
}

}  // namespace pgb

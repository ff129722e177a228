#include "proxy/io/native_cancel.h"

#include <libpq-fe.h>
#include <uv.h>

#include <algorithm>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

/// Outlives the errand when it must.
struct NativeCancel::Work {
    uv_work_t request{};
    std::unique_ptr<pg_cancel, FreeNativeCancel> cancel;
    NativeCancel* errand = nullptr;
    bool sent = false;
    char complaint[256] = "";
};

NativeCancel::NativeCancel(Loop& loop, std::unique_ptr<pg_cancel, FreeNativeCancel> cancel, End end)
    : loop_(loop), cancel_(std::move(cancel)), end_(std::move(end)) {}

NativeCancel::~NativeCancel() {
    if (work_ != nullptr) work_->errand = nullptr;
}

void NativeCancel::start() {
    work_ = new Work;
    work_->cancel = std::move(cancel_);
    work_->errand = this;
    work_->request.data = work_;
    const auto run = [](uv_work_t* request) {
        auto& work = *static_cast<Work*>(request->data);
        work.sent = PQcancel(work.cancel.get(), work.complaint, sizeof work.complaint) == 1;
    };
    const auto after = [](uv_work_t* request, int) {
        const std::unique_ptr<Work> work(static_cast<Work*>(request->data));
        if (work->errand == nullptr) return;
        work->errand->work_ = nullptr;
        std::string why = work->sent ? "" : work->complaint;
        std::replace(why.begin(), why.end(), '\n', ' ');
        work->errand->end_(work->sent ? CancelOutcome::closed : CancelOutcome::failed,
                           std::move(why));
    };
    PGB_CHECK(uv_queue_work(loop_.raw(), &work_->request, run, after) == 0);
}

void FreeNativeCancel::operator()(pg_cancel* cancel) const { PQfreeCancel(cancel); }

}  // namespace pgb

#include "proxy/io/waker.h"

#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/uv_handle.h"

namespace pgb {

Waker::Waker(Loop& loop, std::function<void()> look)
    : look_(std::move(look)), handle_(new uv_async_t) {
    PGB_CHECK(uv_async_init(loop.raw(), handle_, [](uv_async_t* woken) {
                  static_cast<Waker*>(woken->data)->look_();
              }) == 0);
    handle_->data = this;
}

Waker::~Waker() { close_and_delete(handle_); }

void Waker::wake() { uv_async_send(handle_); }

}  // namespace pgb

#pragma once

#include <functional>

#include "proxy/io/loop.h"

struct uv_async_s;

namespace pgb {

/// Lets other threads ask the loop's thread to look at something that they share. Several wishes
/// before it looks are one. Made and destroyed on the loop's thread; after that no call comes.
class Waker {
public:
    Waker(Loop& loop, std::function<void()> look);
    ~Waker();
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

    /// Thread-safe as long as the Waker lives.
    void wake();

private:
    std::function<void()> look_;
    uv_async_s* handle_;
};

}  // namespace pgb

#pragma once

#include <memory>

#include "proxy/io/cancel_errand.h"
#include "proxy/io/loop.h"

namespace pgb {

/// libpq's blocking PQcancel on libuv's thread pool, for a backend whose key libpq keeps to itself.
/// Never for a TLS backend: PQcancel sends the key in the clear.
class NativeCancel final : public CancelErrand {
public:
    NativeCancel(Loop& loop, std::unique_ptr<pg_cancel, FreeNativeCancel> cancel, End end);
    ~NativeCancel() override;

    void start() override;
    [[nodiscard]] bool may_have_arrived() const override { return true; }

private:
    struct Work;

    Loop& loop_;
    std::unique_ptr<pg_cancel, FreeNativeCancel> cancel_;
    End end_;
    // Owned by the thread pool: PQcancel may take longer than anybody waits for it.
    Work* work_ = nullptr;
};

}  // namespace pgb

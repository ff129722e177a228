#pragma once

#include "proxy/base/instant.h"

namespace pgb {

/// A cancel may reach the server between two statements; the next finds what runs. Longer than a
/// server takes from one to the next, unless it is overloaded.
inline constexpr Duration kCancelInterval = std::chrono::milliseconds(200);

/// The cancels that one lease sends to its backend: the frontend's, and those by which the proxy
/// itself ends work that nobody waits for any more. At most one is on its way; the proxy's own are
/// repeated, as one that arrives before the server has read the statement has no effect.
class BackendCancel {
public:
    /// Sent, and its connection has not closed yet: it may strike whatever the backend does.
    [[nodiscard]] bool in_flight() const { return in_flight_; }
    /// The same, and it is the proxy's own.
    [[nodiscard]] bool own_in_flight() const { return in_flight_ && own_in_flight_; }
    /// One may still strike after its connection has closed: nobody else gets this backend.
    [[nodiscard]] bool is_unsure() const { return unsure_; }
    /// The proxy has begun to cancel for itself.
    [[nodiscard]] bool is_own() const { return !begun_at_.is_never(); }

    void sent() { in_flight_ = true; }
    void closed(bool sure) {
        in_flight_ = own_in_flight_ = false;
        unsure_ = unsure_ || !sure;
    }

    /// The proxy wants the work to end, from here on.
    void begin(Instant now) {
        if (begun_at_.is_never()) begun_at_ = again_at_ = now;
    }
    /// The same, and something else is tried first: no cancel is due yet.
    void begin_gently(Instant now) {
        begin(now);
        again_at_ = now + kCancelInterval;
    }
    /// Another one of the proxy's own is due: send it, if true.
    [[nodiscard]] bool strike(Instant now) {
        if (in_flight_ || now < again_at_) return false;
        again_at_ = now + kCancelInterval;
        in_flight_ = own_in_flight_ = true;
        return true;
    }
    [[nodiscard]] bool has_lasted(Duration timeout, Instant now) const {
        return now - begun_at_ >= timeout;
    }
    /// What it was for is over.
    void end() { begun_at_ = Instant::never(); }

    /// For the next transaction on the same backend: the doubt alone remains.
    void restart() {
        const bool unsure = unsure_;
        *this = {};
        unsure_ = unsure;
    }

private:
    bool in_flight_ = false;
    bool own_in_flight_ = false;
    bool unsure_ = false;
    Instant begun_at_ = Instant::never();
    Instant again_at_ = Instant::never();
};

}  // namespace pgb

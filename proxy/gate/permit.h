#pragma once

#include <utility>

#include "proxy/base/check.h"
#include "proxy/gate/lane.h"

namespace pgb {

/// The right to run: one execution permit of a lane together with its admission slot, or nothing.
///
/// Made by Gate alone. Giving it back (release(), assignment, destruction) changes the lane's
/// counters and wakes nobody: the next arrive() or dispatch() hands it on. The gate outlives it.
class [[nodiscard]] Permit {
public:
    Permit() = default;
    Permit(Permit&& other) noexcept
        : lane_(std::exchange(other.lane_, nullptr)),
          granted_at_(other.granted_at_),
          shadow_(other.shadow_) {}
    Permit& operator=(Permit&& other) noexcept {
        if (this != &other) {
            release();
            lane_ = std::exchange(other.lane_, nullptr);
            granted_at_ = other.granted_at_;
            shadow_ = other.shadow_;
        }
        return *this;
    }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
    ~Permit() { release(); }

    [[nodiscard]] bool held() const { return lane_ != nullptr; }

    /// Of a held permit only.
    [[nodiscard]] LaneId lane() const {
        PGB_CHECK(held());
        return lane_->id;
    }
    /// Of a held permit only.
    [[nodiscard]] Instant granted_at() const {
        PGB_CHECK(held());
        return granted_at_;
    }

    /// Gives the permit back. An empty one stays empty.
    void release() {
        if (lane_ == nullptr) return;
        --lane_->stats.running;
        lane_->turnover.on_release(granted_at_);
        if (shadow_ != 0) lane_->shadow->end(shadow_);
        lane_ = nullptr;
    }

private:
    friend class Gate;
    Permit(Lane& lane, Instant granted_at, ShadowTicket shadow = 0)
        : lane_(&lane), granted_at_(granted_at), shadow_(shadow) {}

    Lane* lane_ = nullptr;
    Instant granted_at_;
    ShadowTicket shadow_ = 0;
};

}  // namespace pgb

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "proxy/gate/gate.h"

namespace pgb::bench {

// Tells the compiler that memory may have changed: what an operation wrote must have been written,
// and what the next one reads must be read again. No instruction of its own.
inline void barrier() { asm volatile("" : : : "memory"); }

/// A lane in the state that an operation is measured in. Both benchmarks run these same operations:
/// one in nanoseconds, one in instructions.
class Bench {
public:
    static constexpr std::uint32_t kBatch = 16;

    Bench() { out_.reserve(kBatch); }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    /// B = 8 with 4 permits out, so that an arrival finds one free.
    void prepare_free() { prepare({8, 16, kWait}, 4); }
    /// B = 4, Q = 0, all permits out.
    void prepare_full() { prepare({4, 0, kWait}, 4); }
    /// B = Q = kBatch, all permits out, nobody waits.
    void prepare_queue() { prepare({kBatch, kBatch, kWait}, kBatch); }
    /// 16 lanes without anybody.
    void prepare_idle_lanes() {
        for (int i = 0; i < 16; ++i) lane_ = gate_.add_lane("idle", {4, 16, kWait});
    }

    /// What the loop around every operation costs.
    void nothing() { barrier(); }

    /// A transaction that finds a permit, and gives it back.
    void admit_and_release() {
        const Verdict verdict = gate_.arrive(lane_, waiters_[0], now_, out_);
        barrier();
    }
    /// A transaction that finds neither permit nor place.
    void reject() {
        const Verdict verdict = gate_.arrive(lane_, waiters_[0], now_, out_);
        barrier();
    }
    /// A turn with one handoff: a transaction queues, a permit comes back, the end of the turn gives
    /// it to the other, who takes it from the out-list. Dispatch has no second waiter to share its
    /// cost with.
    void hand_off_one() {
        const Verdict verdict = gate_.arrive(lane_, waiters_[0], now_, out_);
        barrier();
        hand_over(1);
    }
    /// A turn with kBatch handoffs.
    void hand_off_batch() {
        for (std::size_t i = 0; i < kBatch; ++i) {
            const Verdict verdict = gate_.arrive(lane_, waiters_[i], now_, out_);
            barrier();
        }
        hand_over(kBatch);
    }
    /// The end of a turn in which nobody waits.
    void dispatch_idle() {
        gate_.dispatch(now_, out_);
        barrier();
    }

    [[nodiscard]] const LaneStats& stats() const { return gate_.stats(lane_); }

private:
    static constexpr Duration kWait = std::chrono::milliseconds(250);

    void hand_over(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) held_[i].release();
        gate_.dispatch(now_, out_);
        for (std::size_t i = 0; i < count; ++i) held_[i] = std::move(out_[i].permit);
        out_.clear();
        barrier();
    }

    void prepare(LaneBudget budget, std::uint32_t running) {
        lane_ = gate_.add_lane("oltp", budget);
        for (std::uint32_t i = 0; i < running; ++i) {
            held_.push_back(gate_.arrive(lane_, waiters_[0], now_, out_).permit);
        }
    }

    Gate gate_;
    LaneId lane_{};
    std::array<Waiter, kBatch> waiters_;
    std::vector<Permit> held_;
    std::vector<Settled> out_;
    Instant now_{std::chrono::seconds(1)};
};

}  // namespace pgb::bench

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/gate/due_heap.h"
#include "proxy/gate/lane_budget.h"
#include "proxy/gate/lane_stats.h"
#include "proxy/gate/turnover.h"

namespace pgb {

/// One transaction of a ShadowLane, in its permit; 0: none.
using ShadowTicket = std::uint64_t;

/// What a lane would do if it enforced its budget, while everybody is let through.
///
/// With each real transaction an imaginary one arrives and is admitted, queued or shed by the rules
/// of Gate. It holds its imaginary permit for as long as the real permit was held, counted from its
/// imaginary grant: so one that waited for 30 ms ends 30 ms after the real one. That is what
/// enforcing would do if the work took as long as it did, and so:
///
///   Given when each transaction arrives and for how long it holds its permit, the books of a
///   ShadowLane are at every instant those of an enforcing lane whose driver dispatches on time.
///
///   arrive --free permit----------> RUNNING --the real one ends----> gone, or ENDING
///      |  \--free place--> WAITING --a permit is free-----^             |
///      |                    |  '--its wait is over--> shed              | grant + hold
///      '--neither--> shed                                               v
///                                                                      gone
///
/// What it cannot know: that a refused client would have come back, that one that waits would have
/// left, and that less work at once would have made the work quicker.
///
/// Several things may happen at one instant: then permits come back first, then transactions
/// arrive, then waits end. The end of a real permit happens at the time of the next call that is
/// told one, which is in the same turn.
///
/// Never holds more than B + Q transactions (more only after a budget was lowered); their memory is
/// kept, so nothing is allocated once as many as that were here.
class ShadowLane {
public:
    explicit ShadowLane(LaneBudget budget) : budget_(budget) {}
    ShadowLane(const ShadowLane&) = delete;
    ShadowLane& operator=(const ShadowLane&) = delete;
    ~ShadowLane() { clear(); }

    /// Empty again, with the books at zero. Tickets given out before mean nothing any more.
    void restart(LaneBudget budget);
    void set_budget(LaneBudget budget) { budget_ = budget; }

    /// `due`: its own deadline, as the waiter of the gate has it.
    ShadowTicket arrive(Instant now, Instant due = Instant::never());
    /// The real permit was given back.
    void end(ShadowTicket ticket);
    /// Everything that happens up to `now`.
    void dispatch(Instant now);
    /// When dispatch() next has something to do; never() when only a real end could bring it.
    [[nodiscard]] Instant next_deadline() const;

    [[nodiscard]] const LaneStats& stats() const { return stats_; }
    /// What it has shed since it was made, over all restarts: a count that only grows.
    [[nodiscard]] std::uint64_t shed_ever(ShedReason reason) const {
        return shed_before_[index_of(reason)] + stats_.shed(reason);
    }

private:
    struct Queue;
    struct Ends;
    struct Ended;
    struct Dues;
    struct Transaction : ListHook<Queue>, ListHook<Ended>, DueHook<Ends>, DueHook<Dues> {
        Instant arrived;  // when the real one was granted
        Instant granted;
        Instant due;  // its own deadline
        Duration hold{0};
        std::uint32_t place = 0;
        std::uint32_t generation = 1;
        bool is_running = false;
        bool is_over = false;  // the real one has ended, and `hold` is known
        Transaction* next_free = nullptr;
    };

    void clear();
    Transaction& make(Instant now, Instant due);
    [[nodiscard]] std::optional<ShedReason> refusal(bool runs, Instant now, Instant due) const;
    Transaction& take_oldest();
    void let_go(Transaction& transaction);
    void stamp(Instant now);
    void run_until(Instant now, bool waits_end_now);
    void end_first(Instant at);
    void shed(ShedReason reason) { ++stats_.shed_arrivals[index_of(reason)]; }
    void shed_waiting(Transaction& late, ShedReason reason);
    [[nodiscard]] Duration expected_wait(Instant now) const;
    void grant(Transaction& transaction, Instant at);
    void grant_waiting(Instant at);
    [[nodiscard]] Instant first_wait_end() const;

    LaneBudget budget_;
    LaneStats stats_;
    LaneStats::ByReason shed_before_{};  // before the latest restart
    std::deque<Transaction> transactions_;
    Transaction* free_ = nullptr;
    IntrusiveList<Transaction, Queue> queue_;
    IntrusiveList<Transaction, Ended> ended_;  // by the real one, and not told when yet
    DueHeap<Transaction, Ends> ends_;          // running, and the end is known
    DueHeap<Transaction, Dues> dues_;          // waiting, with a deadline of its own
    Turnover turnover_;
    Instant last_end_;  // until which turnover_ has seen all
};

}  // namespace pgb

#include "proxy/gate/shadow_lane.h"

#include <algorithm>

namespace pgb {

void ShadowLane::restart(LaneBudget budget) {
    clear();
    budget_ = budget;
    for (const ShedReason reason : kShedReasons) {
        shed_before_[index_of(reason)] = shed_ever(reason);
    }
    stats_ = {};
}

void ShadowLane::clear() {
    while (!queue_.empty()) queue_.pop_front();
    while (!ended_.empty()) ended_.pop_front();
    while (!ends_.empty()) ends_.pop();
    while (!dues_.empty()) dues_.pop();
    turnover_ = {};
    free_ = nullptr;
    for (Transaction& transaction : transactions_) let_go(transaction);
}

ShadowLane::Transaction& ShadowLane::make(Instant now, Instant due) {
    if (free_ == nullptr) {
        Transaction& added = transactions_.emplace_back();
        added.place = static_cast<std::uint32_t>(transactions_.size() - 1);
        free_ = &added;
    }
    Transaction& made = *free_;
    free_ = made.next_free;
    made.next_free = nullptr;
    made.arrived = now;
    made.due = due;
    made.is_running = false;
    made.is_over = false;
    return made;
}

// A ticket whose transaction has gone meanwhile finds another generation.
void ShadowLane::let_go(Transaction& transaction) {
    ++transaction.generation;
    transaction.next_free = free_;
    free_ = &transaction;
}

ShadowTicket ShadowLane::arrive(Instant now, Instant due) {
    stamp(now);
    run_until(now, false);
    ++stats_.arrived;
    const bool runs = stats_.running < budget_.concurrency;
    if (const std::optional<ShedReason> reason = refusal(runs, now, due)) {
        shed(*reason);
        return 0;
    }
    Transaction& arrived = make(now, due);
    if (runs) {
        grant(arrived, now);
    } else {
        queue_.push_back(arrived);
        if (!due.is_never()) dues_.push(arrived, due);
        stats_.peak_waiting = std::max(stats_.peak_waiting, ++stats_.waiting);
    }
    return (ShadowTicket{arrived.generation} << 32) | arrived.place;
}

// As the gate judges, in the same order.
std::optional<ShedReason> ShadowLane::refusal(bool runs, Instant now, Instant due) const {
    if (due <= now) return ShedReason::deadline;
    if (runs) return std::nullopt;
    if (stats_.waiting >= budget_.queue) return ShedReason::queue_full;
    if (budget_.queue_wait <= Duration::zero()) return ShedReason::queue_timeout;
    if (!due.is_never() && expected_wait(now) > due - now) return ShedReason::deadline;
    return std::nullopt;
}

Duration ShadowLane::expected_wait(Instant now) const {
    return turnover_.expected_wait(stats_, budget_.concurrency, now);
}

void ShadowLane::end(ShadowTicket ticket) {
    const auto place = static_cast<std::uint32_t>(ticket);
    if (place >= transactions_.size()) return;
    Transaction& transaction = transactions_[place];
    if (transaction.generation != ticket >> 32) return;
    ended_.push_back(transaction);
}

void ShadowLane::stamp(Instant now) {
    while (!ended_.empty()) {
        Transaction& transaction = ended_.pop_front();
        transaction.is_over = true;
        transaction.hold = now - transaction.arrived;
        if (transaction.is_running) ends_.push(transaction, transaction.granted + transaction.hold);
    }
}

void ShadowLane::dispatch(Instant now) {
    stamp(now);
    run_until(now, true);
    turnover_.fold(last_end_);
}

// In order of time; at one instant deadlines come first, then what ends, then whose wait is over.
void ShadowLane::run_until(Instant now, bool waits_end_now) {
    grant_waiting(now);
    for (;;) {
        const Instant end = ends_.first_due();
        const Instant wait_end = first_wait_end();
        const Instant due = dues_.first_due();
        if (due <= end && due <= wait_end && due <= now) {
            Transaction& late = dues_.pop();
            queue_.remove(late);
            shed_waiting(late, ShedReason::deadline);
        } else if (end <= wait_end && end <= now) {
            end_first(end);
            grant_waiting(end);
        } else if (wait_end < now || (waits_end_now && wait_end == now)) {
            shed_waiting(take_oldest(), ShedReason::queue_timeout);
        } else {
            return;
        }
    }
}

void ShadowLane::end_first(Instant at) {
    if (at != last_end_) turnover_.fold(last_end_);
    last_end_ = at;
    Transaction& first = ends_.pop();
    turnover_.on_release(first.granted);
    let_go(first);
    --stats_.running;
}

ShadowLane::Transaction& ShadowLane::take_oldest() {
    Transaction& oldest = queue_.pop_front();
    if (!oldest.due.is_never()) dues_.remove(oldest);
    return oldest;
}

// It is in no queue any more.
void ShadowLane::shed_waiting(Transaction& late, ShedReason reason) {
    // A real end that was not told its time yet has nothing to end any more.
    if (static_cast<ListHook<Ended>&>(late).is_linked()) ended_.remove(late);
    let_go(late);
    --stats_.waiting;
    shed(reason);
}

void ShadowLane::grant(Transaction& transaction, Instant at) {
    turnover_.on_grant(at);
    transaction.granted = at;
    transaction.is_running = true;
    ++stats_.admitted;
    stats_.peak_running = std::max(stats_.peak_running, ++stats_.running);
    if (transaction.is_over) ends_.push(transaction, at + transaction.hold);
}

void ShadowLane::grant_waiting(Instant at) {
    while (!queue_.empty() && stats_.running < budget_.concurrency) {
        Transaction& oldest = take_oldest();
        --stats_.waiting;
        ++stats_.admitted_after_wait;
        grant(oldest, at);
    }
}

Instant ShadowLane::first_wait_end() const {
    return queue_.empty() ? Instant::never() : queue_.front().arrived + budget_.queue_wait;
}

Instant ShadowLane::next_deadline() const {
    return std::min({ends_.first_due(), dues_.first_due(), first_wait_end()});
}

}  // namespace pgb

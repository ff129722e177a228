#include <algorithm>
#include <chrono>

#include "proxy/pool/pool.h"

namespace pgb {

namespace {

// A backend that was in use a moment ago will most likely be wanted again in a moment. To close it
// for another group costs a login (5 to 12 ms) now and another one to get it back, so two busy
// groups in a full pool could spend all their time with logins. Both numbers are guesses: some
// logins long, and far below any sensible pool_wait.
constexpr Duration kWarmFor = std::chrono::milliseconds(50);
constexpr Duration kWarmSwapSpacing = std::chrono::milliseconds(20);

}  // namespace

void Pool::tick(Instant now, Actions& out) {
    now_ = now;
    if (login_waiting_ > 0) greet_logins(out);
    if (now >= earliest_age_) close_aged(now, out);
    if (is_above_size_) close_excess(out);
    if (is_paused_) {
        close_idle(out);
    } else {
        if (login_waiting_ > 0) open_for_logins(now, out);
        if (!waiting_.empty()) serve_transactions(now, out);
        if (!groups_.with_wishes.empty()) open_for_wishes(now, out);
        if (!pacing_.reachable()) probe(now, out);
    }
    if (!pacing_.reachable()) refuse_hopeless(now, out);
    if (!waiting_.empty()) refuse_expired(now, out);
    close_unused(now, out);
    if (!groups_.unused.empty()) forget_groups(out);
    plan_swap(now);
}

void Pool::greet_logins(Actions& out) {
    groups_.with_logins.for_each([&](Group& group) {
        if (!group.greeting_known) return;
        while (!group.logins.empty()) {
            PoolWaiter& waiter = group.logins.front();
            remove_login(waiter);
            out.push_back({.kind = PoolActionKind::greet, .group = group.id, .waiter = &waiter});
        }
    });
}

void Pool::close_aged(Instant now, Actions& out) {
    earliest_age_ = Instant::never();
    roster_.idle().for_each([&](Backend& backend) {
        if (backend.end_of_life <= now) {
            ++totals_.worn_out;
            close(backend, out);
        } else {
            earliest_age_ = std::min(earliest_age_, backend.end_of_life);
        }
    });
}

// P was lowered: the least recently used first, and whatever has come back since the last tick.
void Pool::close_excess(Actions& out) {
    while (roster_.excess() > 0 && !roster_.idle().empty()) close(roster_.idle().front(), out);
    is_above_size_ = roster_.excess() > 0;
}

void Pool::close_idle(Actions& out) {
    while (!roster_.idle().empty()) close(roster_.idle().front(), out);
}

// One connect serves all logins of its group, and they go before transactions: a login has no
// permit and no pool_wait, and it needs a single connect for as long as its group lives.
void Pool::open_for_logins(Instant now, Actions& out) {
    groups_.with_logins.for_each([&](Group& group) {
        if (group.coming() > 0 || !may_open(now)) return;
        if (roster_.has_place()) {
            open(group, out);
        } else if (may_swap_for_login(now)) {
            swap_for(group, now, out);
        }
    });
}

void Pool::serve_transactions(Instant now, Actions& out) {
    while (!waiting_.empty()) {
        const bool may_open_now = may_open(now);
        if (!may_open_now && roster_.idle().empty()) return;
        Flow* flow = waiting_.first(
            [&](const Flow& candidate) { return can_serve(candidate, may_open_now, now); });
        if (flow == nullptr) return;
        serve(*flow, now, out);
    }
}

void Pool::serve(Flow& flow, Instant now, Actions& out) {
    Group& group = *flow.group;
    if (!group.idle.empty()) {
        PoolWaiter& waiter = flow.waiters.front();
        waiting_.remove(waiter);
        lend(waiter, group, flow.workload, out);
    } else if (roster_.has_place()) {
        open(group, out);
    } else {
        swap_for(group, now, out);
    }
}

void Pool::open_for_wishes(Instant now, Actions& out) {
    while (!groups_.with_wishes.empty()) {
        Group& group = groups_.with_wishes.pop_front();
        while (group.wishes > group.coming() + group.idle.size() && may_open(now)) {
            if (roster_.has_place()) {
                open(group, out);
                continue;
            }
            // Nobody waits for the place, so only one that is not in use is taken.
            if (group.live() == 0 && !roster_.idle().empty()) swap_for(group, now, out);
            break;
        }
        group.wishes = 0;
    }
}

// Without this a pool whose users were all refused would notice the recovery only when the next one
// tries, and an instance that is not ready for its failure would never be tried.
void Pool::probe(Instant now, Actions& out) {
    if (probe_group_ != nullptr && may_open(now) && roster_.has_place()) open(*probe_group_, out);
}

void Pool::refuse_hopeless(Instant now, Actions& out) {
    waiting_.for_each_flow([&](Flow& flow) {
        if (is_hopeless(*flow.group, now)) refuse_flow(flow, PoolRefusal::backend_down, out);
    });
    groups_.with_logins.for_each([&](Group& group) {
        if (is_hopeless(group, now)) refuse_logins(group, PoolRefusal::backend_down, out);
    });
}

void Pool::refuse_expired(Instant now, Actions& out) {
    for (const bool housekeeping : {true, false}) {
        auto& arrivals = waiting_.arrivals(housekeeping);
        while (!arrivals.empty()) {
            PoolWaiter& waiter = arrivals.front();
            if (waiter.asked() + wait_of(housekeeping) > now) break;
            const Group& group = WaitingRoom::group_of(waiter);
            waiting_.remove(waiter);
            refuse(waiter, group, PoolRefusal::pool_timeout, out);
        }
    }
}

void Pool::close_unused(Instant now, Actions& out) {
    if (settings_.idle_timeout == Duration{0}) return;
    while (!roster_.idle().empty()) {
        Backend& backend = roster_.idle().front();
        if (backend.idle_since + settings_.idle_timeout > now) return;
        ++totals_.worn_out;
        close(backend, out);
    }
}

void Pool::forget_groups(Actions& out) {
    while (!groups_.unused.empty()) {
        Group& group = groups_.unused.pop_front();
        // It may have got a session in the same turn.
        if (!is_unused(group)) continue;
        out.push_back({.kind = PoolActionKind::forget, .group = group.id});
        groups_.erase(group);
    }
}

void Pool::plan_swap(Instant now) {
    swap_retry_at_ = Instant::never();
    if (waiting_.empty() && login_waiting_ == 0) return;
    if (roster_.has_place() || roster_.idle().empty() || !may_open(now)) return;
    const Instant cold = roster_.idle().front().idle_since + kWarmFor;
    if (cold > now) swap_retry_at_ = cold;
    if (warm_swap_from_ > now) swap_retry_at_ = std::min(swap_retry_at_, warm_swap_from_);
}

bool Pool::can_serve(const Flow& flow, bool may_open_now, Instant now) const {
    const Group& group = *flow.group;
    if (!may_be_lent(flow.workload)) return false;
    if (!group.idle.empty()) return true;
    if (!may_open_now || group.waiting <= group.coming()) return false;
    return roster_.has_place() || (!roster_.idle().empty() && may_swap_for(flow, now));
}

// Whether the least recently used idle backend, which is of another group, may be closed for this
// flow. One that is cold may. A warm one that its own group's waiters want may, too: they can be
// served themselves, so this flow is chosen only if it goes before them. A warm one between two uses
// is left alone, except for a group that has none at all or a workload that has not got its share.
bool Pool::may_swap_for(const Flow& flow, Instant now) const {
    const Backend& victim = roster_.idle().front();
    if (victim.idle_since + kWarmFor <= now) return true;
    const bool spacing_over = now >= warm_swap_from_;
    if (victim.group->waiting > 0) return spacing_over;
    if (flow.group->live() == 0) return true;
    return spacing_over && waiting_.below_share(flow.workload);
}

bool Pool::may_swap_for_login(Instant now) const {
    if (roster_.idle().empty()) return false;
    const Backend& victim = roster_.idle().front();
    return victim.group->waiting == 0 || now >= warm_swap_from_;
}

void Pool::open(Group& group, Actions& out) {
    Backend& backend = roster_.open(group);
    backend.attempt = pacing_.begin();
    out.push_back({.kind = PoolActionKind::connect, .group = group.id, .backend = backend.id});
}

void Pool::close(Backend& backend, Actions& out) {
    roster_.move(backend, BackendState::closing);
    out.push_back(
        {.kind = PoolActionKind::close, .group = backend.group->id, .backend = backend.id});
}

void Pool::swap_for(Group& group, Instant now, Actions& out) {
    Backend& victim = roster_.idle().front();
    if (victim.idle_since + kWarmFor > now) warm_swap_from_ = now + kWarmSwapSpacing;
    close(victim, out);
    victim.promised_to = &group;
    ++group.promised;
    ++promised_;
    ++totals_.swaps;
}

}  // namespace pgb

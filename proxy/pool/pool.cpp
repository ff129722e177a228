#include "proxy/pool/pool.h"

#include <algorithm>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

namespace {
// Backends that were opened together must not end together: their logins would come in a burst.
constexpr std::uint32_t kLifetimeJitterPercent = 10;
}  // namespace

Pool::Pool(const PoolSettings& settings, const std::vector<PoolWorkload>& workloads)
    : settings_(settings),
      roster_(settings.size),
      waiting_(settings.size, workloads),
      pacing_(settings),
      // A sequence of its own: how often a backoff was drawn must not change lifetimes.
      lifetime_jitter_(~settings.jitter_seed) {
    PGB_CHECK(workloads.size() <= 0x10000);
}

void Pool::set_limits(const PoolSettings& settings) {
    const bool other_lifetime = settings.lifetime_max != settings_.lifetime_max;
    settings_.size = settings.size;
    settings_.pool_wait = settings.pool_wait;
    settings_.connecting_max = settings.connecting_max;
    settings_.idle_timeout = settings.idle_timeout;
    settings_.lifetime_max = settings.lifetime_max;
    pacing_.set_connecting_max(settings.connecting_max);
    roster_.set_size(settings.size);
    waiting_.share_out(settings.size);
    is_above_size_ = roster_.excess() > 0;
    if (!other_lifetime) return;
    earliest_age_ = Instant::never();
    roster_.for_each([this](Backend& backend) {
        if (backend.state == BackendState::connecting) return;
        backend.end_of_life = end_of_life(backend);
        if (backend.state != BackendState::idle) return;
        earliest_age_ = std::min(earliest_age_, backend.end_of_life);
    });
}

void Pool::set_workloads(const std::vector<PoolWorkload>& workloads) {
    PGB_CHECK(workloads.size() <= 0x10000);
    waiting_.set_workloads(settings_.size, workloads);
}

GroupId Pool::join(std::string_view key) {
    Group& group = groups_.find_or_make(key);
    ++group.sessions;
    return group.id;
}

void Pool::leave(GroupId id) {
    Group& group = groups_.at(id);
    PGB_CHECK(group.sessions > 0);
    --group.sessions;
    note_unused(group);
}

bool Pool::greeting_known(GroupId id) const { return groups_.at(id).greeting_known; }

PoolGroupCounts Pool::group_counts(GroupId id) const {
    const Group& group = groups_.at(id);
    return {group.sessions, group.waiting, group.backends};
}

void Pool::ask(PoolWaiter& waiter, GroupId id, WorkloadIndex workload, Instant now, Actions& out) {
    PGB_CHECK(!waiter.waiting());
    Group& group = groups_.at(id);
    now_ = waiter.asked_ = now;
    // Whoever waits may go before the newcomer: tick() knows, in this same turn. Who may not wait
    // can't be sent there.
    const bool may_wait = wait_of(waiting_.is_housekeeping(workload)) > Duration{0};
    const bool nobody_waits = waiting_.empty() && (login_waiting_ == 0 || !may_wait);
    if (nobody_waits && !is_paused_ && !group.idle.empty() && has_idle_to_lend() &&
        may_be_lent(workload)) {
        return lend(waiter, group, workload, out);
    }
    if (now < group.refused_until && group.idle.size() <= group.waiting) {
        return refuse(waiter, group, PoolRefusal::permanent, out);
    }
    if (is_hopeless(group, now)) return refuse(waiter, group, PoolRefusal::backend_down, out);
    if (!may_wait) {
        // A pool whose users never wait would otherwise stay as small as it began.
        if (group.wishes++ == 0) groups_.with_wishes.push_back(group);
        return refuse(waiter, group, PoolRefusal::pool_timeout, out);
    }
    waiting_.add(waiter, group, workload, now);
}

void Pool::ask_login(PoolWaiter& waiter, GroupId id, Instant now, Actions& out) {
    PGB_CHECK(!waiter.waiting());
    Group& group = groups_.at(id);
    now_ = waiter.asked_ = now;
    if (group.greeting_known) {
        out.push_back({.kind = PoolActionKind::greet, .group = id, .waiter = &waiter});
        return;
    }
    if (now < group.refused_until) return refuse(waiter, group, PoolRefusal::permanent, out);
    if (is_hopeless(group, now)) return refuse(waiter, group, PoolRefusal::backend_down, out);
    if (group.logins.empty()) groups_.with_logins.push_back(group);
    group.logins.push_back(waiter);
    waiter.login_group_ = &group;
    ++login_waiting_;
}

void Pool::forget_waiter(PoolWaiter& waiter) {
    if (!waiter.waiting()) return;
    if (waiter.login_group_ != nullptr) {
        remove_login(waiter);
    } else {
        waiting_.remove(waiter);
    }
}

std::optional<BackendId> Pool::adopt(GroupId id) {
    Group& group = groups_.at(id);
    group.greeting_known = true;
    // What was wrong with the group's logins no longer is.
    group.refused_until = Instant();
    if (!roster_.has_place()) return std::nullopt;
    return roster_.open(group).id;
}

void Pool::give_back(BackendId id, Instant now) {
    Backend& backend = roster_.at(id);
    PGB_CHECK(backend.state == BackendState::lent);
    waiting_.on_returned(backend.workload);
    note_idle(backend, now);
}

void Pool::keep(BackendId id) {
    Backend& backend = roster_.at(id);
    PGB_CHECK(backend.state == BackendState::lent);
    PGB_CHECK(counts().of(BackendState::pinned) < pins_ + residents_);
    waiting_.on_returned(backend.workload);
    roster_.move(backend, BackendState::pinned);
}

void Pool::take(BackendId id, WorkloadIndex workload) {
    Backend& backend = roster_.at(id);
    PGB_CHECK(backend.state == BackendState::pinned);
    roster_.move(backend, BackendState::lent);
    backend.workload = workload;
    waiting_.on_lent(workload);
}

bool Pool::can_pin(WorkloadIndex workload) const {
    return pins_ + 1 < settings_.size && waiting_.may_pin(workload);
}

void Pool::reserve_pin(WorkloadIndex workload) {
    PGB_CHECK(can_pin(workload));
    ++pins_;
    waiting_.on_pin(workload);
}

void Pool::drop_pin(WorkloadIndex workload) {
    waiting_.on_unpin(workload);
    --pins_;
}

void Pool::remove_resident() {
    PGB_CHECK(residents_ > 0);
    --residents_;
}

void Pool::on_connected(BackendId id, Instant now) {
    Backend& backend = roster_.at(id);
    PGB_CHECK(backend.state == BackendState::connecting);
    ++totals_.connects;
    pacing_.succeeded();
    set_probe_group(nullptr);
    backend.group->greeting_known = true;
    backend.opened_at = now;
    backend.end_of_life = end_of_life(backend);
    note_idle(backend, now);
}

void Pool::on_connect_failed(BackendId id, ConnectTrouble trouble, Instant now, Actions& out) {
    Backend& backend = roster_.at(id);
    PGB_CHECK(backend.state == BackendState::connecting);
    now_ = now;
    ++totals_.connect_failures;
    Group& group = *backend.group;
    const std::uint32_t attempt = backend.attempt;
    roster_.free(backend);
    PoolRefusal why = PoolRefusal::backend_down;
    if (trouble.permanent) {
        why = PoolRefusal::permanent;
        group.trouble = std::move(trouble);
        // Every new waiter is worth one attempt, but clients that come back in a tight loop would
        // keep PostgreSQL busy with refusing them.
        group.refused_until = now + settings_.backoff_first;
        pacing_.answered();
        set_probe_group(nullptr);
    } else {
        pacing_.failed(attempt, std::move(trouble), now);
        set_probe_group(&group);
    }
    if (why == PoolRefusal::permanent || is_hopeless(group, now)) {
        for (const auto& flow : group.flows) refuse_flow(*flow, why, out);
    }
    // A login is told what PostgreSQL said, as it would be without us; it can come back.
    refuse_logins(group, why, out);
    note_unused(group);
}

void Pool::on_closing(BackendId id) {
    Backend& backend = roster_.at(id);
    if (backend.state == BackendState::lent) waiting_.on_returned(backend.workload);
    roster_.move(backend, BackendState::closing);
}

void Pool::on_orphaned(BackendId id) {
    Backend& backend = roster_.at(id);
    if (backend.state == BackendState::lent) waiting_.on_returned(backend.workload);
    end_promise(backend);
    roster_.move(backend, BackendState::orphaned);
}

void Pool::on_gone(BackendId id, Instant now) {
    Backend& backend = roster_.at(id);
    PGB_CHECK(backend.state != BackendState::connecting);
    now_ = now;
    if (backend.state == BackendState::lent) waiting_.on_returned(backend.workload);
    end_promise(backend);
    Group& group = *backend.group;
    roster_.free(backend);
    note_unused(group);
}

Instant Pool::next_deadline() const {
    Instant earliest = std::min(earliest_age_, swap_retry_at_);
    for (const bool housekeeping : {true, false}) {
        const auto& arrivals = waiting_.arrivals(housekeeping);
        if (arrivals.empty()) continue;
        earliest = std::min(earliest, arrivals.front().asked() + wait_of(housekeeping));
    }
    if (settings_.idle_timeout > Duration{0} && !roster_.idle().empty()) {
        earliest = std::min(earliest, roster_.idle().front().idle_since + settings_.idle_timeout);
    }
    // A backoff that has passed is no deadline: what had to begin then has begun.
    if (pacing_.retry_at() > now_) earliest = std::min(earliest, pacing_.retry_at());
    return earliest;
}

// Backing off, and nothing is left that could serve the group before it ends.
bool Pool::is_hopeless(const Group& group, Instant now) const {
    return !pacing_.reachable() && pacing_.backing_off(now) && group.live() == 0 &&
           !is_worth_a_wait(pacing_.trouble());
}

// One place is set aside for housekeeping, as long as that leaves another one: those whose backends do
// not come back soon, of sessions that keep theirs and of orphans, count as taken from both.
bool Pool::may_be_lent(WorkloadIndex workload) const {
    if (!waiting_.has_housekeeping() || waiting_.is_housekeeping(workload)) return true;
    const std::uint32_t orphaned = counts().of(BackendState::orphaned);
    const std::uint32_t taken = counts().of(BackendState::lent) - waiting_.lent_to_housekeeping() +
                                counts().of(BackendState::pinned) + orphaned;
    const std::uint32_t kept = pins_ + residents_ + orphaned;
    const std::uint32_t aside = kept + 1 < settings_.size ? 1 : 0;
    return taken + aside < settings_.size;
}

void Pool::lend(PoolWaiter& waiter, Group& group, WorkloadIndex workload, Actions& out) {
    // The most recently used: its caches are warm, and those that nobody needs get old and go.
    Backend& backend = group.idle.front();
    roster_.move(backend, BackendState::lent);
    backend.workload = workload;
    waiting_.on_lent(workload);
    ++totals_.lends;
    out.push_back({.kind = PoolActionKind::lend,
                   .group = group.id,
                   .backend = backend.id,
                   .waiter = &waiter});
}

void Pool::refuse(PoolWaiter& waiter, const Group& group, PoolRefusal why, Actions& out) {
    const ConnectTrouble* trouble = pacing_.reachable() ? nullptr : &pacing_.trouble();
    if (why == PoolRefusal::permanent) trouble = &group.trouble;
    out.push_back({.kind = PoolActionKind::refuse,
                   .group = group.id,
                   .waiter = &waiter,
                   .refusal = why,
                   .trouble = trouble});
}

void Pool::refuse_flow(Flow& flow, PoolRefusal why, Actions& out) {
    while (!flow.waiters.empty()) {
        PoolWaiter& waiter = flow.waiters.front();
        waiting_.remove(waiter);
        refuse(waiter, *flow.group, why, out);
    }
}

void Pool::refuse_logins(Group& group, PoolRefusal why, Actions& out) {
    while (!group.logins.empty()) {
        PoolWaiter& waiter = group.logins.front();
        remove_login(waiter);
        refuse(waiter, group, why, out);
    }
}

void Pool::remove_login(PoolWaiter& waiter) {
    Group& group = *std::exchange(waiter.login_group_, nullptr);
    group.logins.remove(waiter);
    if (group.logins.empty()) groups_.with_logins.remove(group);
    --login_waiting_;
}

void Pool::set_probe_group(Group* group) {
    Group* before = std::exchange(probe_group_, group);
    if (before != nullptr) note_unused(*before);
}

void Pool::end_promise(Backend& backend) {
    if (backend.promised_to == nullptr) return;
    Group& group = *std::exchange(backend.promised_to, nullptr);
    --group.promised;
    --promised_;
    note_unused(group);
}

Instant Pool::end_of_life(const Backend& backend) {
    if (settings_.lifetime_max <= Duration{0}) return Instant::never();
    return backend.opened_at +
           lifetime_jitter_.around(settings_.lifetime_max, kLifetimeJitterPercent);
}

void Pool::note_idle(Backend& backend, Instant now) {
    now_ = now;
    backend.idle_since = now;
    roster_.move(backend, BackendState::idle);
    earliest_age_ = std::min(earliest_age_, backend.end_of_life);
}

void Pool::note_unused(Group& group) {
    const ListHook<UnusedGroup>& hook = group;
    if (is_unused(group) && !hook.is_linked()) groups_.unused.push_back(group);
}

bool Pool::is_unused(const Group& group) const {
    return group.sessions == 0 && group.backends.all() == 0 && group.promised == 0 &&
           &group != probe_group_;
}

}  // namespace pgb

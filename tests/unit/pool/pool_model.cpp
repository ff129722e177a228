#include "tests/unit/pool/pool_model.h"

#include <algorithm>
#include <chrono>

#include "tests/support/catch.h"

namespace pgb::test {

namespace {
using std::chrono::milliseconds;
constexpr std::size_t kSessions = 40;
}  // namespace

PoolModel::PoolModel(std::uint32_t seed) : rng_(seed) {
    settings_.size = most_ = 1 + random(8);
    settings_.pool_wait = one_in(5) ? Duration{0} : milliseconds(100 + random(500));
    settings_.connecting_max = 1 + random(3);
    settings_.idle_timeout = one_in(2) ? Duration{0} : milliseconds(200 + random(2000));
    settings_.lifetime_max = one_in(2) ? Duration{0} : milliseconds(500 + random(5000));
    settings_.jitter_seed = seed;
    trouble_ = one_in(2) ? 0 : random(60);
    for (std::size_t i = 0; i < 3; ++i) workloads_.push_back({1 + random(6), random(4)});
    pool_ = std::make_unique<Pool>(settings_, workloads_);
    for (std::size_t i = 0; i < kGroups; ++i) groups_[i] = pool_->join(std::to_string(i));
    for (std::size_t i = 0; i < kSessions; ++i) {
        sessions_.push_back(std::make_unique<Session>());
        sessions_.back()->group = random(one_in(3) ? 1 : kGroups);
        sessions_.back()->workload = static_cast<WorkloadIndex>(random(3));
    }
}

PoolModel::~PoolModel() {
    for (const auto& session : sessions_) pool_->forget_waiter(*session);
}

void PoolModel::step() {
    if (one_in(4)) {
        act_for_postgresql();
    } else {
        act_for(*sessions_[random(kSessions)]);
    }
    carry_out();
    check_books();
    if (one_in(2)) tick();
    if (one_in(3)) {
        pass_time();
        tick();
    }
}

void PoolModel::reload() {
    settings_.size = 1 + random(8);
    settings_.pool_wait = one_in(5) ? Duration{0} : milliseconds(100 + random(500));
    settings_.idle_timeout = one_in(2) ? Duration{0} : milliseconds(200 + random(2000));
    settings_.lifetime_max = one_in(2) ? Duration{0} : milliseconds(500 + random(5000));
    for (PoolWorkload& workload : workloads_) workload.concurrency = 1 + random(6);
    most_ = std::max(settings_.size, pool_->counts().all());
    pool_->set_limits(settings_);
    pool_->set_workloads(workloads_);
    tick();
    REQUIRE((count(BackendState::idle) == 0 ||
             pool_->counts().all() - count(BackendState::closing) <= settings_.size));
}

void PoolModel::wind_down() {
    trouble_ = 0;
    for (int turn = 0; turn < 1500; ++turn) {
        for (const auto& session : sessions_) {
            if (session->doing == Doing::running) act_for_running(*session);
            if (session->doing == Doing::holding) act_for_holding(*session);
        }
        act_for_postgresql();
        carry_out();
        pass_time();
        tick();
    }
    for (const auto& session : sessions_) CHECK(session->doing == Doing::nothing);
    CHECK(pool_->waiting_count() == 0);
    CHECK(pool_->login_waiting_count() == 0);
    CHECK(pool_->counts().all() == count(BackendState::idle));
    CHECK(pool_->opening_count() == 0);
    for (const GroupId group : groups_) pool_->leave(group);
    while (!backends_.empty()) {
        const auto [slot, generation] = backends_.begin()->first;
        pool_->on_gone({slot, generation}, now_);
        backends_.erase(backends_.begin());
    }
    tick();
    CHECK(pool_->counts().all() == 0);
    CHECK(pool_->group_count() == 0);
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
        const PoolWorkloadCounts& counts = pool_->workload(static_cast<WorkloadIndex>(i));
        CHECK(counts.lent == 0);
        CHECK(counts.waiting == 0);
        CHECK(counts.pins == 0);
    }
}

void PoolModel::act_for(Session& session) {
    switch (session.doing) {
        case Doing::nothing: return act_for_idle(session);
        case Doing::waiting:
        case Doing::logging_in:
            if (!one_in(10)) return;
            pool_->forget_waiter(session);
            session.doing = Doing::nothing;
            return;
        case Doing::running: return act_for_running(session);
        case Doing::holding: return act_for_holding(session);
    }
}

void PoolModel::act_for_idle(Session& session) {
    session.number = ++asked_;
    if (one_in(10)) {
        session.doing = Doing::logging_in;
        pool_->ask_login(session, groups_[session.group], now_, out_);
    } else {
        session.doing = Doing::waiting;
        pool_->ask(session, groups_[session.group], session.workload, now_, out_);
    }
}

void PoolModel::act_for_running(Session& session) {
    Known& known = backends_.at({session.backend.slot, session.backend.generation});
    if (one_in(12)) return lose(session);
    if (!session.pinned && one_in(6) && pool_->can_pin(session.workload)) {
        pool_->reserve_pin(session.workload);
        session.pin_workload = session.workload;
        session.pinned = true;
    }
    if (session.pinned && !one_in(3)) {
        pool_->keep(session.backend);
        known.state = BackendState::pinned;
        session.doing = Doing::holding;
        return;
    }
    unpin(session);
    pool_->give_back(session.backend, now_);
    known.state = BackendState::idle;
    known.session = nullptr;
    session.doing = Doing::nothing;
}

void PoolModel::act_for_holding(Session& session) {
    Known& known = backends_.at({session.backend.slot, session.backend.generation});
    if (one_in(6)) return lose(session);
    pool_->take(session.backend, session.workload);
    known.state = BackendState::lent;
    session.doing = Doing::running;
}

// The three ways in which a backend in use is lost.
void PoolModel::lose(Session& session) {
    const Key key{session.backend.slot, session.backend.generation};
    Known& known = backends_.at(key);
    known.session = nullptr;
    unpin(session);
    session.doing = Doing::nothing;
    switch (random(3)) {
        case 0:
            pool_->on_closing(session.backend);
            known.state = BackendState::closing;
            return;
        case 1:
            pool_->on_orphaned(session.backend);
            known.state = BackendState::orphaned;
            return;
        default: pool_->on_gone(session.backend, now_); backends_.erase(key);
    }
}

void PoolModel::unpin(Session& session) {
    if (session.pinned) pool_->drop_pin(session.pin_workload);
    session.pinned = false;
}

void PoolModel::act_for_postgresql() {
    if (backends_.empty()) return;
    auto chosen =
        std::next(backends_.begin(), random(static_cast<std::uint32_t>(backends_.size())));
    const auto [key, state] = std::pair(chosen->first, chosen->second.state);
    const BackendId id{key.first, key.second};
    switch (state) {
        case BackendState::connecting: return connect_ends(key, chosen->second);
        case BackendState::closing:
            if (one_in(10)) {
                pool_->on_orphaned(id);
                chosen->second.state = BackendState::orphaned;
                return;
            }
            break;
        case BackendState::orphaned: break;
        case BackendState::idle:
            if (!one_in(10)) return;
            if (one_in(2)) {
                pool_->on_closing(id);
                chosen->second.state = BackendState::closing;
                return;
            }
            break;
        case BackendState::lent:
        case BackendState::pinned: return;  // their sessions lose them
    }
    pool_->on_gone(id, now_);
    backends_.erase(chosen);
}

void PoolModel::connect_ends(Key key, Known& known) {
    const BackendId id{key.first, key.second};
    if (random(100) >= trouble_) {
        pool_->on_connected(id, now_);
        known.state = BackendState::idle;
        return;
    }
    backends_.erase(key);
    switch (random(3)) {
        case 0: return pool_->on_connect_failed(id, {"3D000", "no such", true}, now_, out_);
        case 1: return pool_->on_connect_failed(id, {"53300", "full", false}, now_, out_);
        default: return pool_->on_connect_failed(id, {"", "refused", false}, now_, out_);
    }
}

void PoolModel::pass_time() {
    const Instant deadline = pool_->next_deadline();
    now_ = now_ + milliseconds(random(30));
    if (one_in(20) && !deadline.is_never() && deadline > now_) now_ = deadline;
}

void PoolModel::tick() {
    pool_->tick(now_, out_);
    carry_out();
    check_books();
    check_after_tick();
}

void PoolModel::carry_out() {
    for (const PoolAction& action : out_) carry_out(action);
    out_.clear();
}

void PoolModel::carry_out(const PoolAction& action) {
    const Key key{action.backend.slot, action.backend.generation};
    auto* session = static_cast<Session*>(action.waiter);
    switch (action.kind) {
        case PoolActionKind::connect: {
            const auto group = std::find(groups_.begin(), groups_.end(), action.group);
            const bool is_new = backends_
                                    .insert({key,
                                             {BackendState::connecting,
                                              static_cast<std::size_t>(group - groups_.begin())}})
                                    .second;
            CHECK(is_new);
            return;
        }
        case PoolActionKind::close:
            REQUIRE(backends_.at(key).state == BackendState::idle);
            backends_.at(key).state = BackendState::closing;
            return;
        case PoolActionKind::lend: return on_lend(action);
        case PoolActionKind::greet:
            CHECK(session->doing == Doing::logging_in);
            session->doing = Doing::nothing;
            return;
        case PoolActionKind::refuse:
            CHECK((session->doing == Doing::logging_in || session->doing == Doing::waiting));
            CHECK((action.refusal == PoolRefusal::pool_timeout || action.trouble != nullptr));
            session->doing = Doing::nothing;
            ++refusals_;
            return;
        case PoolActionKind::forget: CHECK(action.group != GroupId{0xffffffff}); return;
    }
}

void PoolModel::on_lend(const PoolAction& action) {
    auto& session = static_cast<Session&>(*action.waiter);
    Known& known = backends_.at({action.backend.slot, action.backend.generation});
    REQUIRE(session.doing == Doing::waiting);
    REQUIRE(known.state == BackendState::idle);
    CHECK(known.group == session.group);
    check_order(session);
    known.state = BackendState::lent;
    known.session = &session;
    session.doing = Doing::running;
    session.backend = action.backend;
}

// Among all who wait for the same group nobody went before the one that is lent a backend.
void PoolModel::check_order(const Session& lent_one) {
    for (const auto& other : sessions_) {
        if (other.get() == &lent_one || other->doing != Doing::waiting) continue;
        if (other->group != lent_one.group) continue;
        CHECK_FALSE(goes_before(*other, lent_one));
    }
}

bool PoolModel::goes_before(const Session& one, const Session& other) const {
    if (one.workload != other.workload) {
        if (below_share(one.workload) != below_share(other.workload)) {
            return below_share(one.workload);
        }
        const std::uint32_t left = lent(one.workload) * workloads_[other.workload].concurrency;
        const std::uint32_t right = lent(other.workload) * workloads_[one.workload].concurrency;
        if (left != right) return left < right;
    }
    return one.number < other.number;
}

bool PoolModel::below_share(WorkloadIndex workload) const {
    std::uint32_t sum = 0;
    for (const PoolWorkload& each : workloads_) sum += each.concurrency;
    if (sum <= settings_.size) return true;
    const std::uint32_t share = settings_.size * workloads_[workload].concurrency / sum;
    return lent(workload) < std::max(1U, share);
}

std::uint32_t PoolModel::lent(WorkloadIndex workload) const {
    const auto runs = [&](const auto& session) {
        return session->doing == Doing::running && session->workload == workload;
    };
    return static_cast<std::uint32_t>(std::count_if(sessions_.begin(), sessions_.end(), runs));
}

std::uint32_t PoolModel::count(BackendState state) const {
    std::uint32_t sum = 0;
    for (std::size_t group = 0; group < kGroups; ++group) sum += count(state, group);
    return sum;
}

std::uint32_t PoolModel::count(BackendState state, std::size_t group) const {
    const auto fits = [&](const auto& entry) {
        return entry.second.state == state && entry.second.group == group;
    };
    return static_cast<std::uint32_t>(std::count_if(backends_.begin(), backends_.end(), fits));
}

void PoolModel::check_books() {
    const BackendCounts& counts = pool_->counts();
    REQUIRE(counts.all() <= most_);
    most_ = std::max(settings_.size, counts.all());
    REQUIRE(counts.all() == backends_.size());
    for (std::size_t i = 0; i < kBackendStateCount; ++i) {
        const auto state = static_cast<BackendState>(i);
        REQUIRE(counts.of(state) == count(state));
    }
    REQUIRE(pool_->opening_count() <= settings_.connecting_max);
    std::uint32_t pins = 0;
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
        const auto index = static_cast<WorkloadIndex>(i);
        REQUIRE(pool_->workload(index).lent == lent(index));
        REQUIRE(pool_->workload(index).pins <= workloads_[i].pinned_max);
        pins += pool_->workload(index).pins;
    }
    REQUIRE((pins < settings_.size || pins <= most_pins_));
    most_pins_ = pins;
    const bool all_say_so =
        std::all_of(sessions_.begin(), sessions_.end(), [](const auto& session) {
            const bool waits =
                session->doing == Doing::waiting || session->doing == Doing::logging_in;
            return session->waiting() == waits;
        });
    REQUIRE(all_say_so);
}

void PoolModel::check_after_tick() {
    REQUIRE(pool_->next_deadline() > now_);
    std::array<std::uint32_t, kGroups> waiting{};
    for (const auto& session : sessions_) {
        if (session->doing != Doing::waiting) continue;
        ++waiting[session->group];
        REQUIRE(session->asked() + settings_.pool_wait > now_);
        REQUIRE(count(BackendState::idle, session->group) == 0);
    }
    // During a backoff nothing is opened, and only the pool knows how long it lasts.
    const bool may_open = failures() == 0 && pool_->counts().all() < settings_.size &&
                          pool_->opening_count() < settings_.connecting_max;
    if (!may_open) return;
    // Nobody waits for a place that is free; places being cleared by swaps are on their way.
    const std::uint32_t swapping = pool_->opening_count() - count(BackendState::connecting);
    for (std::size_t group = 0; group < kGroups; ++group) {
        CHECK(waiting[group] <= count(BackendState::connecting, group) + swapping);
    }
}

}  // namespace pgb::test

#include "tests/sim/world.h"

#include <cstdio>

namespace pgb::sim {

namespace {

PoolSettings pool_settings(const Settings& settings) {
    return {.size = settings.pool_size,
            .pool_wait = std::chrono::milliseconds(200),
            .connecting_max = 2,
            .idle_timeout = std::chrono::seconds(5),
            .lifetime_max = std::chrono::seconds(20),
            .jitter_seed = settings.seed};
}

// Quiet for this long means that nothing more will come.
constexpr int kEndTurnsMax = 20000;
constexpr Duration kOrphanHold = std::chrono::seconds(3);

}  // namespace

World::World(const Settings& settings)
    : settings_(settings),
      dice_(settings.seed),
      tables_{frontend_heads(4096), backend_heads(4096), &tracking_},
      pool_(pool_settings(settings),
            {{.concurrency = settings.concurrency, .pinned_max = settings.pool_size - 1},
             {.concurrency = 1, .is_housekeeping = true}}),
      rules_{.holder_idle = std::chrono::seconds(2),
             .transaction = std::chrono::seconds(3),
             .deadline = std::chrono::milliseconds(700),
             .cancel_after_leave = std::chrono::milliseconds(20),
             .reset_timeout = std::chrono::milliseconds(500),
             .cancel_timeout = std::chrono::milliseconds(300)} {
    lane_ = gate_.add_lane("sim", {.concurrency = settings.concurrency,
                                   .queue = settings.queue,
                                   .queue_wait = std::chrono::milliseconds(50)});
    house_lane_ = gate_.add_lane("house",
                                 {.concurrency = 1,
                                  .queue = static_cast<std::uint32_t>(settings.seats),
                                  .queue_wait = std::chrono::milliseconds(50)},
                                 {.expiry = ShedReason::pool_timeout});
    group_ = pool_.join("group");
    for (int i = 0; i < settings.seats; ++i) {
        seats_.push_back(std::make_unique<Seat>(*this, next_session_++));
    }
}

World::~World() {
    seats_.clear();
    settled_.clear();
    for (auto& link : links_) link->permit.release();
    for (Orphan& orphan : orphans_) orphan.permit.release();
}

// A grant or refusal whose word is still on its way: nobody wants it any more.
void World::forget_settled(Seat& seat) {
    for (auto* list : {&settled_, &settling_}) {
        for (Settled& settled : *list) {
            if (settled.waiter != &seat) continue;
            settled.waiter = nullptr;
            settled.permit.release();
        }
    }
}

void World::note(const std::string& what) {
    if (!settings_.trace) return;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::printf("%.3f %s\n", std::chrono::duration<double>(now_.since_start()).count(),
                what.c_str());
}

Link* World::find(BackendId id) {
    for (auto& link : links_) {
        if (link->id == id) return link.get();
    }
    return nullptr;
}

std::vector<std::string> World::run() {
    for (int i = 0; i < settings_.steps && books_.broken.empty(); ++i) turn();
    ending_ = true;
    if (settings_.drains) {
        for (auto& seat : seats_) seat->drain();
    }
    for (int i = 0; i < kEndTurnsMax && books_.broken.empty() && !settled(); ++i) turn();
    if (books_.broken.empty()) check_end();
    note("distrusted: " + std::to_string(distrusted_));
    return books_.broken;
}

bool World::settled() const {
    for (const auto& seat : seats_) {
        if (!seat->gone()) return false;
    }
    return orphans_.empty() && gate_.stats(lane_).running == 0 &&
           gate_.stats(house_lane_).running == 0 && pool_.counts().of(BackendState::closing) == 0;
}

void World::turn() {
    now_ = now_ + std::chrono::microseconds(dice_.below(dice_.once_in(10) ? 20000 : 800));
    for (auto& link : links_) {
        if (dice_.once_in(2)) step_link(*link);
    }
    for (auto& link : outlived_) link->server.run(now_);
    for (auto& seat : seats_) {
        if (ending_) {
            seat->stop();
            if (seat->quiet() && seat->client().answered() && dice_.once_in(20)) seat->leave();
        }
        if (dice_.once_in(2)) seat->step();
    }
    end_turn();
    for (auto& seat : seats_) {
        if (seat->gone() && !ending_) seat = std::make_unique<Seat>(*this, next_session_++);
    }
    if (now_ >= next_tick_) {
        next_tick_ = now_ + std::chrono::milliseconds(50);
        for (auto& seat : seats_) {
            if (!seat->gone() && (seat->permit_.held() || seat->link_ != nullptr)) seat->on_tick();
        }
        tick_links();
        end_turn();
    }
    check();
}

void World::end_turn() {
    for (int round = 0; round < 64; ++round) {
        gate_.dispatch(now_, settled_);
        settling_.swap(settled_);
        const bool answered = !settling_.empty();
        for (Settled& settled : settling_) {
            if (settled.waiter != nullptr) static_cast<Seat*>(settled.waiter)->on_settled(settled);
        }
        settling_.clear();
        std::erase_if(connecting_, [this](const Connecting& connecting) {
            if (now_ < connecting.at) return false;
            if (dice_.once_in(30)) {
                Pool::Actions actions;
                ConnectTrouble trouble;
                trouble.sqlstate = "57P03";
                trouble.message = "the database system is starting up";
                pool_.on_connect_failed(connecting.id, trouble, now_, actions);
                actions_.insert(actions_.end(), actions.begin(), actions.end());
                return true;
            }
            links_.push_back(std::make_unique<Link>(books_, dice_, connecting.id));
            pool_.on_connected(connecting.id, now_);
            return true;
        });
        std::erase_if(orphans_, [this](Orphan& orphan) {
            if (now_ < orphan.until) return false;
            over_admission_possible_ = true;
            pool_.on_gone(orphan.id, now_);
            return true;
        });
        pool_.tick(now_, actions_);
        const bool any = !actions_.empty() || answered;
        carry_out(actions_);
        if (!any && settled_.empty()) return;
    }
}

void World::carry_out(Pool::Actions& actions) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const PoolAction action = actions[i];
        switch (action.kind) {
            case PoolActionKind::connect:
                connecting_.push_back(
                    {action.backend, now_ + std::chrono::microseconds(dice_.below(5000))});
                break;
            case PoolActionKind::close: {
                Link& link = *find(action.backend);
                link.server.receive(std::string_view("X\0\0\0\4", 5));
                begin_close(link, {}, Instant::never(), false);
                break;
            }
            case PoolActionKind::lend:
                static_cast<Seat*>(action.waiter)->on_lent(*find(action.backend));
                break;
            case PoolActionKind::refuse:
                static_cast<Seat*>(action.waiter)->on_refused(action);
                break;
            case PoolActionKind::greet:
            case PoolActionKind::forget: break;
        }
    }
    actions.clear();
}

void World::step_link(Link& link) {
    if (link.dropped) return;
    if (link.cancel_in_flight && dice_.once_in(3)) {
        if (!link.cancel_struck) {
            link.server.run(now_);
            link.server.cancel(now_);
            link.cancel_struck = true;
        } else {
            close_cancel(link);
            if (link.dropped) return;
        }
    }
    if (!ending_ && dice_.once_in(settings_.stuck_once_in)) link.server.get_stuck(now_);
    link.server.run(now_);
    if (!ending_ && dice_.once_in(settings_.death_once_in)) link.server.die(dice_.once_in(2));
    if (link.server.has_output()) {
        const std::string part =
            link.server.take_output(1 + dice_.below(dice_.once_in(2) ? 8 : 500));
        if (link.user != nullptr) {
            link.user->on_backend_bytes(part, link);
        } else if (!link.closing && !link.server.dead()) {
            books_.complain("an idle server had something to say");
        }
    } else if (link.server.dead()) {
        link_ended(link);
    }
}

void World::begin_close(Link& link, Permit permit, Instant cancel_at, bool may_cancel) {
    link.permit = std::move(permit);
    link.closing = true;
    link.may_cancel = may_cancel;
    link.cancel_at = cancel_at;
    link.close_by = now_ + rules_.reset_timeout;
    link.server.receive_eof();
}

void World::send_cancel(Link& link) {
    if (link.cancel_in_flight) books_.complain("two cancels at once");
    link.cancel_in_flight = true;
    link.cancel_struck = false;
}

void World::close_cancel(Link& link) {
    link.cancel_in_flight = false;
    if (link.user == nullptr) return;
    Seat& user = *link.user;
    user.session().on_cancel_closed(true, user.turn(), out_);
    user.carry_out();
    user.pump();
}

void World::link_ended(Link& link) {
    if (link.user != nullptr) {
        Seat& user = *link.user;
        user.session().on_backend_lost(user.turn(), out_);
        user.carry_out();
        user.pump();
        if (link.user != nullptr) books_.complain("a lost backend was kept");
        return;
    }
    link.permit.release();
    drop_link(link);
}

void World::drop_link(Link& link) {
    if (link.dropped) return;
    link.dropped = true;
    link.server.receive_eof();
    pool_.on_gone(link.id, now_);
}

void World::orphan(Link& link, Permit permit) {
    pool_.on_orphaned(link.id);
    orphans_.push_back({link.id, std::move(permit), now_ + kOrphanHold});
    link.dropped = true;
    link.server.receive_eof();
}

void World::tick_links() {
    for (auto& link : links_) {
        if (!link->closing || link->dropped) continue;
        if (now_ >= link->cancel_at && link->may_cancel && !link->cancel_in_flight) {
            link->cancel_at = Instant::never();
            send_cancel(*link);
        }
        if (now_ < link->close_by) continue;
        if (link->permit.held()) {
            orphan(*link, std::move(link->permit));
        } else {
            drop_link(*link);
        }
    }
    for (auto& link : links_) {
        if (link->dropped) outlived_.push_back(std::move(link));
    }
    std::erase(links_, nullptr);
    std::erase_if(outlived_, [](const auto& link) { return link->server.dead(); });
}

void World::check() {
    const LaneStats& stats = gate_.stats(lane_);
    if (stats.running > settings_.concurrency) books_.complain("running > B");
    if (stats.waiting > settings_.queue) books_.complain("waiting > Q");
    if (gate_.stats(house_lane_).running > 1) books_.complain("housekeeping > 1");
    std::uint32_t busy = 0;
    for (const auto& link : links_) busy += link->server.works() ? 1U : 0U;
    for (const auto& link : outlived_) busy += link->server.works() ? 1U : 0U;
    if (busy > settings_.concurrency + 1 && !over_admission_possible_) {
        books_.complain("PostgreSQL runs " + std::to_string(busy) + " transactions");
    }
    for (std::size_t i = 0; i < links_.size(); ++i) {
        if (links_[i]->dropped || links_[i]->user == nullptr) continue;
        if (links_[i]->user->link_ != links_[i].get()) books_.complain("a backend of two sessions");
    }
}

void World::check_end() {
    for (const auto& seat : seats_) {
        if (!seat->gone()) books_.complain("never ends: " + seat->describe());
    }
    const LaneStats& stats = gate_.stats(lane_);
    if (stats.running != 0) books_.complain("a permit is missing at the end");
    if (stats.waiting != 0) books_.complain("somebody waits at the end");
    if (gate_.stats(house_lane_).running != 0) books_.complain("housekeeping is not over");
    if (pool_.waiting_count() != 0) books_.complain("somebody waits for a backend at the end");
    for (const BackendState state : {BackendState::lent, BackendState::pinned,
                                     BackendState::closing, BackendState::orphaned}) {
        if (pool_.counts().of(state) != 0) {
            books_.complain("a backend is still " +
                            std::string(kBackendStateWords[index_of(state)]));
        }
    }
    if (pool_.workload(0).pins != 0) books_.complain("a pin is missing at the end");
}

// Every other session: whatever happens next, nobody must notice that this is another one.
void Seat::rest_if_it_may() {
    if (number_ % 4 < 2 || !session_->is_at_rest()) return;
    const SessionSeed seed = session_->seed();
    session_ = std::make_unique<Session>(world_.tables_, world_.statements_, seed);
    if (number_ % 2 == 1) session_->class_by(ClassedBy::texts);
}

}  // namespace pgb::sim

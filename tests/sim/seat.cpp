// A seat carries out what its session decides, as the driver of the real program does it.

#include "tests/sim/world.h"

namespace pgb::sim {

namespace {

std::string printable(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) text += c >= ' ' && c <= '~' ? c : '.';
    return text;
}

}  // namespace

Seat::Seat(World& world, int number)
    : world_(world),
      number_(number),
      session_(std::make_unique<Session>(world.tables_, world.statements_)),
      client_(number, world.books_, world.dice_, !world.settings_.residents),
      logged_in_(!world.settings_.residents) {
    if (number % 2 == 1) session_->class_by(ClassedBy::texts);
}

Seat::~Seat() {
    world_.gate_.cancel(*this, Leave::left);
    world_.forget_settled(*this);
    world_.pool_.forget_waiter(*this);
}

Turn Seat::turn() const {
    const bool lane_waits = world_.gate_.stats(world_.lane_).waiting > 0;
    return {world_.now_, lane_waits || world_.pool_.waiting_count() > 0};
}

ShedFacts Seat::facts(ShedReason reason) const {
    ShedFacts facts;
    facts.reason = reason;
    facts.workload = "sim";
    facts.sqlstate = "40001";
    return facts;
}

bool Seat::quiet() const {
    if (client_.wants_to_send() || !input_.empty() || !to_client_.empty()) return false;
    if (session_->state() == SessionState::queued ||
        session_->state() == SessionState::waiting_backend) {
        return false;
    }
    return link_ == nullptr ||
           (link_->unseen.empty() && !link_->server.has_output() && link_->server.idle());
}

std::string Seat::describe() const {
    return client_.describe() + "; state " + std::to_string(static_cast<int>(session_->state())) +
           ", input " + std::to_string(input_.size()) + ", backend " +
           (link_ == nullptr ? "none" : link_->server.why_not_clean());
}

// A resident waits for its backend before it says anything.
bool Seat::log_in() {
    if (world_.ending_) {
        world_.pool_.forget_waiter(*this);
        gone_ = true;
    } else if (!PoolWaiter::waiting()) {
        Pool::Actions actions;
        world_.pool_.ask(*this, world_.group_, 0, world_.now_, actions);
        for (const PoolAction& action : actions) {
            if (action.kind == PoolActionKind::lend) on_lent(*world_.find(action.backend));
        }
    }
    return logged_in_;
}

void Seat::step() {
    if (gone_ || (!logged_in_ && !log_in())) return;
    rest_if_it_may();
    Dice& dice = world_.dice_;
    if (deaf_ || eof_) {
        pump();
        if (session_->state() == SessionState::closed) gone_ = true;
        return;
    }
    if (dice.once_in(2)) client_.act();
    if (dice.once_in(3) && quiet()) client_.on_quiet();
    if (dice.once_in(2) && client_.wants_to_send()) {
        input_ += client_.take(1 + dice.below(dice.once_in(2) ? 8 : 400));
        pump();
    } else {
        pump();
    }
    if (!to_client_.empty() && dice.once_in(2)) {
        const std::size_t most = 1 + dice.below(dice.once_in(2) ? 16 : 1000);
        client_.receive(to_client_.substr(0, most));
        to_client_.erase(0, most);
    }
    if (close_when_flushed_ && to_client_.empty()) {
        deaf_ = true;
        if (session_->state() == SessionState::closed) gone_ = true;
    }
    if (session_->state() == SessionState::closed && to_client_.empty()) gone_ = true;
    if (dice.once_in(world_.settings_.cancel_once_in) && !gone_) {
        world_.note(client_.name() + " is cancelled");
        session_->on_cancel_request(turn(), world_.out_);
        carry_out();
        pump();
    }
    if (dice.once_in(world_.settings_.leave_once_in)) leave();
}

// In one of the ways a client can leave.
void Seat::leave() {
    if (gone_ || eof_ || deaf_ || !logged_in_) return;
    world_.note("leaves: " + describe());
    switch (world_.dice_.below(3)) {
        case 0:
            input_ += client_.take(1 << 20);
            input_ += std::string("X\0\0\0\4", 5);
            pump();
            [[fallthrough]];
        case 1:
            eof_ = true;
            pump();
            return;
        default: reset(); return;
    }
}

void Seat::drain() {
    if (gone_ || !logged_in_) return;
    session_->on_drain(turn(), world_.out_);
    carry_out();
    pump();
}

void Seat::stop() {
    client_.stop();
    client_.finish();
}

void Seat::reset() {
    deaf_ = true;
    to_client_.clear();
    input_.clear();
    session_->on_frontend_gone(Leaving::reset, turn(), world_.out_);
    carry_out();
}

void Seat::pump() {
    if (gone_) return;
    Outbox& out = world_.out_;
    while (!input_.empty() && session_->takes_input() && !deaf_) {
        // The kernel may hand over any part of it.
        const std::size_t seen =
            world_.dice_.once_in(3)
                ? 1 + world_.dice_.below(static_cast<std::uint32_t>(input_.size()))
                : input_.size();
        const std::string view = input_.substr(0, seen);
        const std::size_t taken = session_->on_frontend(view, turn(), out);
        if (taken > 0) {
            world_.note(client_.name() +
                        " -> proxy: " + printable(std::string_view(view).substr(0, taken)));
        }
        input_.erase(0, taken);
        const bool decided = !out.decisions().empty();
        carry_out();
        if (taken == 0 && !decided) break;
    }
    const SessionState state = session_->state();
    if (!eof_ || state == SessionState::winding_up || state == SessionState::closed) return;
    const bool waits = state == SessionState::queued || state == SessionState::waiting_backend;
    if (!input_.empty() && !session_->takes_input() && !waits) return;
    input_.clear();
    session_->on_frontend_gone(Leaving::goodbye, turn(), out);
    carry_out();
}

void Seat::carry_out() {
    Outbox& out = world_.out_;
    do {
        for (std::size_t i = 0; i < out.decisions().size(); ++i) {
            const Decision decision = out.decisions()[i];
            flush_backend();
            flush_frontend();
            carry_out(decision);
        }
        out.clear_decisions();
        flush_backend();
        flush_frontend();
    } while (!out.decisions().empty() || !out.backend_bytes().empty());
    out.clear();
    if (session_->state() == SessionState::closed && (to_client_.empty() || deaf_ || eof_)) {
        gone_ = true;
    }
}

void Seat::flush_backend() {
    for (const std::string_view bytes : world_.out_.backend_bytes()) {
        if (link_ == nullptr) {
            world_.books_.complain("bytes for a backend that was not lent: " + describe());
            break;
        }
        if (!permit_.held() && session_->state() != SessionState::winding_up) {
            world_.books_.complain("work without a permit: " + describe());
        }
        world_.note(client_.name() + " -> server: " + printable(bytes));
        link_->server.receive(bytes);
    }
    world_.out_.clear_backend_bytes();
}

void Seat::flush_frontend() {
    for (const std::string_view bytes : world_.out_.frontend_bytes()) {
        world_.note(client_.name() + " <- proxy: " + printable(bytes));
        if (!deaf_ && !eof_) to_client_ += bytes;
    }
    world_.out_.clear_frontend_bytes();
}

void Seat::carry_out(Decision decision) {
    world_.note(client_.name() + " decides " + std::to_string(static_cast<int>(decision)));
    switch (decision) {
        case Decision::ask_permit: return ask_permit(0);
        case Decision::ask_housekeeping: return ask_permit(1);
        case Decision::ask_backend: return ask_backend();
        case Decision::ask_pin: return ask_pin();
        // Any answer is right for the machine; this one is the same for the same text.
        case Decision::ask_workload:
            return session_->on_workload(world_.out_.subject().text.size() % 3 != 0);
        case Decision::leave_queue:
            world_.gate_.cancel(*this, Leave::left);
            world_.forget_settled(*this);
            world_.pool_.forget_waiter(*this);
            permit_.release();
            return;
        case Decision::unpin:
            return world_.settings_.residents ? world_.pool_.remove_resident()
                                              : world_.pool_.drop_pin(0);
        case Decision::end_lease:
        case Decision::keep_backend:
        case Decision::close_backend:
        case Decision::drop_backend:
        case Decision::orphan_backend: return end_lease(decision);
        case Decision::cancel_backend:
            if (!session_->may_cancel() && session_->state() == SessionState::winding_up) {
                world_.books_.complain("a cancel behind a COMMIT: " + describe());
            }
            return world_.send_cancel(*link_);
        case Decision::close_frontend: close_when_flushed_ = true; return;
    }
}

void Seat::ask_permit(WorkloadIndex workload) {
    workload_ = workload;
    const LaneId lane = workload == 0 ? world_.lane_ : world_.house_lane_;
    if (permit_.held()) world_.books_.complain("a second permit: " + describe());
    Verdict verdict = world_.gate_.arrive(lane, *this, world_.now_, world_.settled_);
    if (verdict.arrival == Arrival::shed) return session_->on_refused(facts(verdict.reason));
    if (verdict.arrival != Arrival::admitted) return;
    permit_ = std::move(verdict.permit);
    session_->on_permit(world_.rules_, turn(), world_.out_);
}

void Seat::on_settled(Settled& settled) {
    if (settled.granted) {
        permit_ = std::move(settled.permit);
        session_->on_permit(world_.rules_, turn(), world_.out_);
    } else {
        session_->on_refused(facts(settled.reason));
    }
    carry_out();
    pump();
}

void Seat::ask_backend() {
    if (link_ != nullptr) {
        world_.pool_.take(link_->id, workload_);
        session_->on_backend_ready(link_->book, turn(), world_.out_);
        return;
    }
    Pool::Actions actions;
    world_.pool_.ask(*this, world_.group_, workload_, world_.now_, actions);
    for (const PoolAction& action : actions) {
        if (action.kind == PoolActionKind::lend) {
            Link& link = *world_.find(action.backend);
            accept(link);
            session_->on_backend_ready(link.book, turn(), world_.out_);
        } else if (action.kind == PoolActionKind::refuse) {
            permit_.release();
            session_->on_refused(facts(ShedReason::pool_timeout));
        }
    }
}

void Seat::accept(Link& link) {
    link_ = &link;
    if (link.user != nullptr) world_.books_.complain("lent twice: " + describe());
    link.user = this;
}

void Seat::on_lent(Link& link) {
    accept(link);
    if (!logged_in_) {
        logged_in_ = true;
        world_.pool_.add_resident();
        world_.pool_.keep(link.id);
        session_->become_resident(link.book, world_.rules_);
        return;
    }
    session_->on_backend_ready(link.book, turn(), world_.out_);
    carry_out();
    pump();
}

void Seat::on_refused(const PoolAction& action) {
    if (!logged_in_) return;
    permit_.release();
    if (action.refusal == PoolRefusal::permanent) {
        session_->on_backend_unavailable("3D000", "no such database");
    } else {
        session_->on_refused(facts(ShedReason::pool_timeout));
    }
    carry_out();
    pump();
}

void Seat::ask_pin() {
    if (world_.pool_.can_pin(0)) {
        world_.pool_.reserve_pin(0);
        session_->on_pin_granted(turn(), world_.out_);
    } else {
        session_->on_pin_denied(facts(ShedReason::pin_limit), turn(), world_.out_);
    }
}

void Seat::end_lease(Decision how) {
    if (link_ == nullptr) {
        world_.books_.complain("no backend to give back: " + describe());
        return;
    }
    Link& link = *link_;
    if (how == Decision::keep_backend) {
        if (link.server.works()) world_.books_.complain("pinned and busy: " + describe());
        world_.pool_.keep(link.id);
        permit_.release();
        return;
    }
    if (how == Decision::end_lease) {
        // What was left of a COPY that failed is dropped by the server without a word.
        link.server.run(world_.now_);
        const std::string why = link.server.why_not_clean();
        if (!why.empty()) world_.books_.complain("given back, but " + why + ": " + describe());
        if (!link.unseen.empty() && !link.server.dead())
            world_.books_.complain("given back with unseen " + printable(link.unseen));
        if (link.cancel_in_flight) world_.books_.complain("given back with a cancel on its way");
    }
    link_ = nullptr;
    link.user = nullptr;
    const std::size_t unseen = link.unseen.size();
    link.unseen.clear();
    if (how == Decision::end_lease && unseen == 0 && !link.server.dead()) {
        if (world_.pool_.find(link.id)->state == BackendState::pinned) {
            world_.pool_.take(link.id, workload_);
        }
        world_.pool_.give_back(link.id, world_.now_);
        permit_.release();
    } else if (how == Decision::drop_backend || link.server.dead()) {
        if (!link.server.dead()) {
            world_.books_.complain("a server that did nothing wrong was dropped: " + describe());
        }
        permit_.release();
        world_.drop_link(link);
    } else if (how == Decision::orphan_backend) {
        world_.orphan(link, std::move(permit_));
    } else {
        if (session_->state() != SessionState::closed) ++world_.distrusted_;
        world_.pool_.on_closing(link.id);
        world_.begin_close(link, std::move(permit_), world_.now_ + world_.rules_.cancel_after_leave,
                           session_->may_cancel());
    }
}

void Seat::on_backend_bytes(std::string_view bytes, Link& link) {
    link.unseen += bytes;
    const std::string view = link.unseen;
    const std::size_t used = session_->on_backend(view, turn(), world_.out_);
    link.unseen.erase(0, used);
    carry_out();
    pump();
}

void Seat::on_tick() {
    session_->on_tick(turn(), false, world_.out_);
    carry_out();
    pump();
}

}  // namespace pgb::sim

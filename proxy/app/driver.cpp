// The driver: carries out what a session machine has decided. Everything here belongs to
// FrontendConnection; it stands apart from frontend_connection.cpp because that is about bytes and
// this is about permits and backends.

#include "protocol/sqlstate.h"
#include "proxy/app/backend_connection.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"
#include "proxy/base/check.h"

namespace pgb {

namespace {
LaneId lane_of(std::size_t workload) { return LaneId{static_cast<std::uint16_t>(workload)}; }

// Bytes that wait for more of the same write may go on waiting.
bool only_asks(Decision decision) {
    return decision == Decision::ask_permit || decision == Decision::ask_housekeeping ||
           decision == Decision::ask_backend || decision == Decision::ask_pin ||
           decision == Decision::ask_workload || decision == Decision::unpin;
}
}  // namespace

void FrontendConnection::carry_out() {
    Outbox& out = server_.outbox();
    for (const Duration took : out.statements()) server_.times(workload_).statement.record(took);
    out.clear_statements();
    do {
        carry_out_decisions();
        flush_backend();
        send_to_frontend();
        deliver_reset();
    } while (!out.decisions().empty() || !out.backend_bytes().empty());
    const DeadlineNotes notes = out.take_deadlines();
    if ((notes.passed | notes.garbled) != 0) server_.note_deadlines(workload_, notes);
    out.clear();
    if (session_.state() == SessionState::closed && !is_dead()) {
        if (output_.empty() || broken_) {
            die();
        } else {
            close_when_flushed();
        }
    }
    // Who has gone without a permit may still have a backend that is being cleaned.
    if (session_.state() == SessionState::winding_up) server_.note_holding(*this);
    if (!is_dead()) update_reading();
}

void FrontendConnection::carry_out_decisions() {
    Outbox& out = server_.outbox();
    // Carrying one out may append others; those come behind.
    for (std::size_t i = 0; i < out.decisions().size(); ++i) {
        const Decision decision = out.decisions()[i];
        if (!only_asks(decision)) {
            flush_backend();
            send_to_frontend();
        }
        carry_out(decision);
    }
    out.clear_decisions();
}

void FrontendConnection::flush_backend() {
    Outbox& out = server_.outbox();
    if (out.backend_bytes().empty()) return;
    PGB_CHECK(backend_ != nullptr);
    const bool sent = backend_->send(out.backend_bytes());
    out.clear_backend_bytes();
    if (!sent) session_->on_backend_lost(turn(), out);
}

void FrontendConnection::carry_out(Decision decision) {
    switch (decision) {
        case Decision::ask_permit: ask_permit(); return;
        case Decision::ask_housekeeping: ask_housekeeping(); return;
        case Decision::ask_backend: ask_backend(); return;
        case Decision::ask_pin: ask_pin(); return;
        case Decision::ask_workload: ask_workload(); return;
        case Decision::leave_queue: leave_queue(); return;
        case Decision::unpin: drop_pin(); return;
        case Decision::end_lease:
        case Decision::keep_backend:
        case Decision::close_backend:
        case Decision::drop_backend:
        case Decision::orphan_backend: end_lease(decision); return;
        case Decision::cancel_backend: backend_->send_cancel(); return;
        case Decision::close_frontend: close_when_flushed(); break;
    }
    if (output_.empty()) note_output();
}

void FrontendConnection::ask_permit() {
    choose_workload();
    arrive();
}

void FrontendConnection::arrive() {
    arrived_at_ = server_.now();
    if (server_.is_draining()) {
        server_.gate().count_shed(lane_of(workload_), ShedReason::draining, ShedStage::on_arrival);
        session_->on_refused(server_.shed_facts(*this, workload_, ShedReason::draining));
        return;
    }
    Waiter::finish_by(session_->due(server_.config().workloads[workload_].deadline));
    Verdict verdict =
        server_.gate().arrive(lane_of(workload_), *this, server_.now(), server_.settled());
    switch (verdict.arrival) {
        case Arrival::admitted: take_permit(std::move(verdict.permit), Duration::zero()); return;
        case Arrival::queued:
        case Arrival::parked: return;
        case Arrival::shed:
            session_->on_refused(server_.shed_facts(*this, workload_, verdict.reason));
            return;
    }
}

void FrontendConnection::take_permit(Permit permit, Duration waited) {
    permit_ = std::move(permit);
    server_.times(workload_).gate_wait.record(waited);
    server_.note_holding(*this);
    server_.deadlines().add(*this, Waiter::due());
    session_->on_permit(database_->lease_rules(workload_), turn(), server_.outbox());
}

void FrontendConnection::on_settled(Settled& settled) {
    const Duration waited = server_.now() - Waiter::arrived();
    if (settled.granted) {
        take_permit(std::move(settled.permit), waited);
    } else {
        session_->on_refused(server_.shed_facts(*this, workload_, settled.reason, waited));
    }
    carry_out();
    pump();
}

void FrontendConnection::ask_backend() {
    Outbox& out = server_.outbox();
    Pool& pool = database_->pool();
    if (backend_ != nullptr) {
        pool.take(backend_->id(), workload_index());
        session_->on_backend_ready(backend_->book(), turn(), out);
        return;
    }
    Pool::Actions& actions = server_.pool_actions();
    PGB_CHECK(actions.empty());
    pool.ask(*this, group_, workload_index(), server_.now(), actions);
    // An ask answers its own waiter alone; everyone else is served by the tick.
    for (const PoolAction& action : actions) {
        PGB_CHECK(action.waiter == this);
        if (action.kind == PoolActionKind::lend) {
            accept_backend(*database_->find(action.backend));
        } else if (action.kind == PoolActionKind::refuse) {
            refuse_backend(action);
        }
    }
    actions.clear();
}

void FrontendConnection::accept_backend(BackendConnection& backend) {
    server_.times(workload_).pool_wait.record(server_.now() - PoolWaiter::asked());
    backend_ = &backend;
    backend.attach(*this);
    session_->on_backend_ready(backend.book(), turn(), server_.outbox());
}

void FrontendConnection::on_lent(BackendConnection& backend) {
    if (phase_ == FrontendPhase::login) {
        become_resident(backend);
        return;
    }
    accept_backend(backend);
    pump();
    // Even without input to send: the machine may have bytes of its own in the outbox.
    carry_out();
}

void FrontendConnection::refuse_backend(const PoolAction& action) {
    const Duration waited = server_.now() - PoolWaiter::asked();
    server_.times(workload_).pool_wait.record(waited);
    permit_.release();
    server_.note_not_holding(*this);
    if (action.refusal == PoolRefusal::permanent) {
        server_.gate().count_shed(lane_of(workload_), ShedReason::backend_down);
        session_->on_backend_unavailable(action.trouble->sqlstate, action.trouble->message);
        return;
    }
    const ShedReason reason = action.refusal == PoolRefusal::pool_timeout
                                  ? ShedReason::pool_timeout
                                  : ShedReason::backend_down;
    server_.gate().count_shed(lane_of(workload_), reason);
    const Duration before_next_attempt = database_->pool().retry_at() - server_.now();
    ShedFacts facts =
        server_.shed_facts(*this, workload_, reason, waited,
                           reason == ShedReason::backend_down ? before_next_attempt : waited);
    if (action.trouble != nullptr) facts.cause = action.trouble->message;
    session_->on_refused(facts);
}

void FrontendConnection::on_pool_refused(const PoolAction& action) {
    if (phase_ == FrontendPhase::login) {
        refuse_login(action);
        return;
    }
    refuse_backend(action);
    carry_out();
    pump();
}

void FrontendConnection::ask_pin() {
    choose_workload();
    Pool& pool = database_->pool();
    if (pool.can_pin(workload_index())) {
        pin_workload_ = workload_;
        pool.reserve_pin(workload_index());
        session_->on_pin_granted(turn(), server_.outbox());
        return;
    }
    const bool asking_for_work = session_.state() == SessionState::idle;
    if (asking_for_work) {
        server_.gate().count_shed(lane_of(workload_), ShedReason::pin_limit, ShedStage::on_arrival);
    }
    session_->on_pin_denied(server_.shed_facts(*this, workload_, ShedReason::pin_limit), turn(),
                            server_.outbox());
}

void FrontendConnection::leave_queue() {
    const bool left = session_.state() == SessionState::closed;
    server_.gate().cancel(*this, left ? Leave::left : Leave::cancelled);
    server_.forget_settled(*this);
    database_->pool().forget_waiter(*this);
    permit_.release();
    server_.note_not_holding(*this);
}

void FrontendConnection::give_permit_back() {
    if (!permit_.held()) return;
    server_.note_permit_back(permit_);
    server_.times(workload_).transaction.record(server_.now() - arrived_at_);
    permit_.release();
}

void FrontendConnection::end_lease(Decision how) {
    PGB_CHECK(backend_ != nullptr);
    BackendConnection& backend = *backend_;
    Pool& pool = database_->pool();
    if (how == Decision::keep_backend) {
        pool.keep(backend.id());
        give_permit_back();
        server_.note_not_holding(*this);
        return;
    }
    backend_ = nullptr;
    backend.detach();
    server_.note_not_holding(*this);
    const bool clean = how == Decision::end_lease && !backend.is_unfit();
    const LeaseRules rules = database_->lease_rules(workload_);
    if (!clean && permit_.held()) {
        database_->departed().note(backend.id(), holder(&backend), server_.now());
    }
    if (clean && pool.find(backend.id())->state == BackendState::pinned) {
        // A pinned backend that was cleaned after its client had left.
        pool.take(backend.id(), workload_index());
    }
    if (clean) {
        database_->note_reported(backend);
        pool.give_back(backend.id(), server_.now());
        give_permit_back();
    } else if (how == Decision::drop_backend && !(backend.is_severed() && permit_.held())) {
        give_permit_back();
        database_->on_gone(backend);
    } else if (how == Decision::drop_backend || how == Decision::orphan_backend) {
        database_->on_orphaned(backend, std::move(permit_));
    } else {
        pool.on_closing(backend.id());
        const Instant cancel_at = server_.now() + rules.cancel_after_leave;
        backend.begin_close(std::move(permit_), cancel_at, server_.now() + rules.reset_timeout,
                            session_->may_cancel());
    }
}

void FrontendConnection::on_cancel_request() {
    if (phase_ == FrontendPhase::console) server_.consoles().cancel(id_);
    if (phase_ != FrontendPhase::session) return;
    session_->on_cancel_request(turn(), server_.outbox());
    carry_out();
    pump();
}

void FrontendConnection::on_tick() {
    session_->on_tick(turn(), output_is_blocked(), server_.outbox());
    carry_out();
    pump();
}

void FrontendConnection::look_for_silence() {
    const Duration limit = server_.config().limits.tcp_user_timeout;
    if (backend_ != nullptr) backend_->look_for_silence(limit);
    if (is_dead() || broken_ || !link_.is_open()) return;
    if (silence_.is_over(tcp_progress(link_.fd()), server_.now(), limit)) broken();
}

// Its last words are not kept for ever for a client that does not read.
void FrontendConnection::close_when_flushed() {
    close_when_flushed_ = true;
    if (!link_.is_open() || output_.empty()) return;
    set_tcp_user_timeout(link_.fd(), server_.config().limits.tcp_user_timeout);
}

void FrontendConnection::watch_idleness() {
    if (phase_ != FrontendPhase::session) return;
    const Instant since = session_.idle_since();
    server_.idle_watch().add(id_, since.is_never() ? server_.now() : since);
}

void FrontendConnection::check_idle() {
    if (phase_ != FrontendPhase::session) return;
    const Instant now = server_.now();
    const Instant since = input_.empty() ? session_.idle_since() : Instant::never();
    if (since.is_never() || !server_.idle_watch().is_over(since, now)) {
        // One that is busy can't be due before it has been silent from now on.
        server_.idle_watch().add(id_, since.is_never() ? now : since);
        return;
    }
    session_->on_idle_timeout(turn(), server_.outbox());
    carry_out();
    pump();
}

void FrontendConnection::on_drain() {
    if (phase_ == FrontendPhase::login) {
        // Who is about to ask is told then; see Server::sweep for those who never do.
        if (!has_asked_to_log_in()) return;
        refuse_for_drain();
        die();
        return;
    }
    if (phase_ == FrontendPhase::console) on_kill();
    if (phase_ != FrontendPhase::session) return;
    session_->on_drain(turn(), server_.outbox());
    carry_out();
    pump();
}

}  // namespace pgb

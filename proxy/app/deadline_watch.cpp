// Whose time is over: transactions that hold a permit at their deadlines, and silent clients.

#include "proxy/app/deadline_watch.h"

#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"

namespace pgb {

void DeadlineWatch::add(FrontendConnection& holder, Instant due) {
    if (!due.is_never()) watched_.push(holder, due);
}

void DeadlineWatch::forget(FrontendConnection& holder) {
    if (holder.DueHook<WatchedDeadlines>::is_due_some_day()) watched_.remove(holder);
}

FrontendConnection* DeadlineWatch::take_due(Instant now) {
    return watched_.first_due() <= now ? &watched_.pop() : nullptr;
}

void Server::look_at_deadlines() {
    while (FrontendConnection* late = deadlines_.take_due(loop_.now())) late->on_deadline();
}

void Server::look_at_idle() {
    while (const std::uint64_t id = idle_watch_.take_due(loop_.now())) {
        if (FrontendConnection* frontend = find_frontend(id)) frontend->check_idle();
    }
}

void Server::note_deadlines(std::size_t workload, DeadlineNotes notes) {
    times_[workload].deadline_cancelled += notes.passed;
    times_[workload].deadline_tags_ignored += notes.garbled;
}

// Without a backend nothing of it was sent: it is refused like one that never got its permit.
void FrontendConnection::on_deadline() {
    if (session_.state() != SessionState::waiting_backend) {
        on_tick();
        return;
    }
    const LaneId lane{static_cast<std::uint16_t>(workload_)};
    const Duration waited = server_.now() - PoolWaiter::asked();
    server_.times(workload_).pool_wait.record(waited);
    database_->pool().forget_waiter(*this);
    permit_.release();
    server_.note_not_holding(*this);
    server_.gate().count_shed(lane, ShedReason::deadline);
    session_->on_refused(server_.shed_facts(*this, workload_, ShedReason::deadline, waited));
    carry_out();
    pump();
}

}  // namespace pgb

// The end of the program: no new transactions, the running ones finish, by a deadline.

#include "proxy/app/server.h"
#include "proxy/io/clock.h"

namespace pgb {

namespace {
// A CancelRequest is a connect, a write and the server's close: milliseconds, unless it is gone.
constexpr Duration kLastCancels = std::chrono::seconds(1);
}  // namespace

void Server::drain() {
    if (draining_) {
        stop();
        return;
    }
    draining_ = true;
    drain_started_ = loop_.now();
    doors_close_at_ = drain_started_ + config().drain.delay;
    log_.info("draining", {{"clients", static_cast<std::int64_t>(frontends_.size())}});
    chronicle_.note(EventKind::draining, {},
                    std::to_string(frontends_.size()) + " clients are here", unix_seconds());
    gate_.shed_all_waiting(ShedReason::draining, settled_);
    // Sessions in a transaction are told at its end, the others now. By id: telling one may end
    // another's wait, and the dead leave the table only at the end of the turn.
    for (const std::uint64_t id : frontend_ids()) {
        if (FrontendConnection* frontend = find_frontend(id)) frontend->on_drain();
    }
    loop_.again();
}

std::vector<std::uint64_t> Server::frontend_ids() const {
    std::vector<std::uint64_t> ids;
    ids.reserve(frontends_.size());
    for (const auto& [id, frontend] : frontends_) ids.push_back(id);
    return ids;
}

// PostgreSQL does not notice that we are gone while a statement runs: what may be cancelled is, and
// the loop ends when those requests have arrived, or soon anyway.
void Server::stop() {
    if (!stop_by_.is_never()) return;
    stop_by_ = loop_.now() + kLastCancels;
    close_doors();
    for (const auto& database : databases_) database->shut_down();
    loop_.again();
}

void Server::continue_stop() {
    if (cancel_sender_.in_flight_count() > 0 && loop_.now() < stop_by_) return;
    tell_all_of_the_end();
    stopped_ = true;
    loop_.stop();
}

// As PostgreSQL does when it is shut down fast. Whose COMMIT is under way hears nothing: 57P01 would
// be taken for a transaction that was rolled back, and it may yet be committed.
void Server::tell_all_of_the_end() {
    for (const std::uint64_t id : frontend_ids()) {
        FrontendConnection* frontend = find_frontend(id);
        if (frontend != nullptr && !frontend->is_committing()) frontend->on_kill();
    }
}

void Server::close_doors() {
    doors_.clear();
    doors_open_ = false;
}

void Server::continue_drain() {
    const Instant now = loop_.now();
    if (now >= doors_close_at_) close_doors();
    const bool done = frontends_.size() == dead_frontends_.size() && !doors_open_;
    const bool late = now - drain_started_ >= config().drain.timeout;
    if (!done && !late) return;
    if (late && !done) {
        log_.warn("drain_timeout", {{"clients", static_cast<std::int64_t>(frontends_.size())}});
    }
    stop();
}

}  // namespace pgb

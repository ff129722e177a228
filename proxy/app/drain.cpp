// The end of the program: no new transactions, the running ones finish, by a deadline.

#include "proxy/app/server.h"
#include "proxy/io/clock.h"

namespace pgb {

namespace {
// A CancelRequest is a connect, a write and the server's close: milliseconds, unless it is gone.
constexpr Duration kLastCancels = std::chrono::seconds(1);
// From the end of the loop to the end of the process; a guess, long.
constexpr Duration kLastWords = std::chrono::seconds(4);
}  // namespace

void Server::drain() {
    if (stage_ >= Stage::leaving) {
        stop();
        return;
    }
    stage_ = Stage::leaving;
    drain_started_ = loop_.now();
    log_.info("draining", {{"clients", static_cast<std::int64_t>(frontends_.size())},
                           {"delay_ms", config().drain.delay / std::chrono::milliseconds(1)}});
    chronicle_.note(EventKind::draining, {},
                    std::to_string(frontends_.size()) + " clients are here", unix_seconds());
    service_manager_.tell_stopping("draining", config().drain.timeout + kLastCancels + kLastWords);
    if (config().drain.delay <= Duration::zero()) begin_drain();
    loop_.again();
}

// Until here whoever sends clients may not have heard that the instance is not ready any more.
void Server::begin_drain() {
    stage_ = Stage::draining;
    for (const auto& door : doors_) door->accept_waiting();
    doors_.clear();
    gate_.shed_all_waiting(ShedReason::draining, settled_);
    // Sessions in a transaction are told at its end, the others now. By id: telling one may end
    // another's wait, and the dead leave the table only at the end of the turn.
    for (const std::uint64_t id : frontend_ids()) {
        if (FrontendConnection* frontend = find_frontend(id)) frontend->on_drain();
    }
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
    if (stage_ >= Stage::stopping) return;
    stage_ = Stage::stopping;
    stop_by_ = loop_.now() + kLastCancels;
    doors_.clear();
    for (const auto& database : databases_) database->shut_down();
    loop_.again();
}

void Server::continue_stop() {
    if (cancel_sender_.in_flight_count() > 0 && loop_.now() < stop_by_) return;
    tell_all_of_the_end();
    stage_ = Stage::stopped;
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

void Server::continue_drain() {
    const Duration passed = loop_.now() - drain_started_;
    if (stage_ == Stage::leaving && passed >= config().drain.delay) {
        begin_drain();
        loop_.again();
    }
    const bool done = stage_ == Stage::draining && frontends_.size() == dead_frontends_.size();
    const bool late = passed >= config().drain.timeout;
    if (!done && !late) return;
    if (late && !done) {
        log_.warn("drain_timeout", {{"clients", static_cast<std::int64_t>(frontends_.size())}});
    }
    stop();
}

}  // namespace pgb

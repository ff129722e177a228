// Who holds the permits: for `/api/v1/holders`, for the event of an overload, and what becomes of
// orphans. Nothing here is asked on the way of a transaction.

#include <algorithm>

#include "proxy/app/backend_connection.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"

namespace pgb {

namespace {

constexpr std::size_t kNamedHolders = 5;
constexpr std::size_t kNamedLockHolders = 3;

/// A holder before it is told in full: a client's connection, or one that outlived its client.
struct Found {
    Instant granted_at;
    const FrontendConnection* frontend = nullptr;
    const Holder* departed = nullptr;
};

// Refused for want of room; anything else has a reason that more room would not change.
bool is_overload(ShedReason reason) {
    switch (reason) {
        case ShedReason::queue_full:
        case ShedReason::queue_timeout:
        case ShedReason::deadline:
        case ShedReason::pool_timeout: return true;
        case ShedReason::draining:
        case ShedReason::backend_down:
        case ShedReason::backend_lost:
        case ShedReason::pin_limit: return false;
    }
    return false;
}

}  // namespace

HolderState FrontendConnection::holder_state(Instant& since) const {
    const Holding holding = session_->holding();
    since = std::max(holding.since, permit_.granted_at());
    switch (holding.activity) {
        case Activity::waiting_backend: return HolderState::waiting_for_backend;
        case Activity::awaiting_frontend: return HolderState::idle_in_transaction;
        case Activity::locked: return HolderState::locked;
        case Activity::cleaning: return HolderState::cleaning;
        case Activity::leaving: return HolderState::rolling_back;
        case Activity::running: break;
    }
    const LockSampler* sampler = database_->sampler();
    if (sampler == nullptr || backend_ == nullptr) return HolderState::running;
    const ProcessWatch::Sight* sight = sampler->sight_of(backend_->id());
    // A look from before this statement says nothing of it.
    if (sight == nullptr || !sight->waits_for_lock || sight->asked < since) {
        return HolderState::running;
    }
    since = std::max(since, sight->lock_wait_since);
    return HolderState::waiting_for_lock;
}

Holder FrontendConnection::holder(const BackendConnection* backend) const {
    Holder holder{.workload = server_.config().workloads[workload_].name,
                  .state = HolderState::running,
                  .granted_at = permit_.granted_at(),
                  .state_since = {},
                  .client = peer_.empty() ? "unix" : peer_,
                  .application_name = std::string(session_.told("application_name")),
                  .database = database_->database_of(group_),
                  .user = database_->user_of(group_),
                  .pid = backend != nullptr ? backend->pid() : 0,
                  .statement = {},
                  .statement_whole = true,
                  .waits_for = {}};
    holder.state = holder_state(holder.state_since);
    if (backend != nullptr) {
        const LastStatement& last = backend->book().last_statement;
        holder.statement = last.text();
        holder.statement_whole = last.whole();
    }
    if (holder.state == HolderState::waiting_for_lock) {
        holder.waits_for = database_->sampler()->waits_for(holder.pid);
    }
    return holder;
}

HolderList Server::holders(std::optional<std::size_t> workload, std::size_t count) const {
    HolderList list;
    list.made = loop_.now();
    const auto share = [&list](HolderState state, Instant since) {
        StateShare& of = list.shares[index_of(state)];
        ++of.count;
        of.time += list.made - since;
    };
    std::vector<Found> all;
    holding_.for_each([&](const FrontendConnection& frontend) {
        const Permit& permit = frontend.permit();
        if (!permit.held() || (workload && index_of(permit.lane()) != *workload)) return;
        Instant since;
        const HolderState state = frontend.holder_state(since);
        share(state, since);
        all.push_back({permit.granted_at(), &frontend, nullptr});
    });
    for (const auto& database : databases_) {
        database->departed().for_each([&](BackendId, const Holder& holder) {
            if (workload && holder.workload != config().workloads[*workload].name) return;
            share(holder.state, holder.state_since);
            all.push_back({holder.granted_at, nullptr, &holder});
        });
    }
    std::sort(all.begin(), all.end(),
              [](const Found& a, const Found& b) { return a.granted_at < b.granted_at; });
    if (all.size() > count) {
        list.left_out = all.size() - count;
        all.resize(count);
    }
    for (const Found& found : all) {
        list.holders.push_back(found.frontend != nullptr
                                   ? found.frontend->holder(found.frontend->backend())
                                   : *found.departed);
    }
    return list;
}

void Server::note_permit_back(const Permit& permit) {
    times_[index_of(permit.lane())].permit_hold.record(loop_.now() - permit.granted_at());
}

void Server::note_overload(std::size_t workload, ShedReason reason) {
    if (!is_overload(reason)) return;
    const Instant before = overloads_.last_refusal(workload);
    if (!overloads_.on_refusal(workload, loop_.now())) return;
    begin_overload(workload, reason, before);
    begun_overloads_.emplace_back(workload, reason);
}

void Server::log_overload(std::size_t workload, ShedReason reason) {
    const LaneId lane{static_cast<std::uint16_t>(workload)};
    const LaneStats& stats = gate_.stats(lane);
    const LaneBudget& budget = gate_.budget(lane);
    const HolderList list = holders(workload, kNamedHolders);
    log_.warn("overload", {{"workload", gate_.name(lane)},
                           {"reason", to_word(reason)},
                           {"running", std::int64_t{stats.running}},
                           {"limit", std::int64_t{budget.concurrency}},
                           {"waiting", std::int64_t{stats.waiting}},
                           {"queue", std::int64_t{budget.queue}},
                           {"time", describe_shares(list)},
                           {"holders", describe_oldest(list, kNamedHolders)},
                           {"wait_for", describe_lock_holders(list, kNamedLockHolders)}});
}

void Database::list_processes(const ProcessWatch& watch, std::vector<AskedProcess>& out) const {
    for (const auto& backend : backends_) {
        if (backend == nullptr || backend->pid() == 0) continue;
        const bool works = backend->user() != nullptr || backend->is_closing();
        if (!works && watch.knows(backend->id())) continue;
        out.push_back({backend->id(), backend->pid(), false});
    }
    for (const auto& [slot, lost] : lost_) {
        if (lost.pid != 0) out.push_back({lost.id, lost.pid, true});
    }
}

void Database::release_lost(BackendId id) {
    const auto found = lost_.find(id.slot);
    server_.note_permit_back(found->second.permit);
    lost_.erase(found);
    departed_.forget(id);
    pool_.on_gone(id, server_.now());
}

void Database::on_orphan_gone(BackendId id) {
    if (!orphans_.remove(id)) return;
    const LostBackend& lost = lost_.at(id.slot);
    const std::size_t workload = index_of(lost.permit.lane());
    server_.log().info("orphan_gone", {{"database", entry_.name},
                                       {"workload", server_.config().workloads[workload].name},
                                       {"pid", std::int64_t{lost.pid}}});
    release_lost(id);
}

}  // namespace pgb

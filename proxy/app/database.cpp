#include "proxy/app/database.h"

#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"
#include "proxy/base/check.h"
#include "proxy/io/conninfo.h"

namespace pgb {

namespace {

// The same trouble again and again is one line in this time.
constexpr Duration kTroubleReportInterval = std::chrono::seconds(5);

PoolSettings pool_settings(const config::DatabaseEntry& entry, Duration housekeeping_wait,
                           std::uint64_t jitter_seed) {
    return {.size = static_cast<std::uint32_t>(entry.pool_size),
            .pool_wait = entry.pool_wait,
            .housekeeping_wait = housekeeping_wait,
            .connecting_max = static_cast<std::uint32_t>(entry.max_connecting),
            .idle_timeout = entry.idle_timeout,
            .lifetime_max = entry.max_lifetime,
            .jitter_seed = jitter_seed};
}

void append_part(std::string& key, std::string_view part) {
    key += part;
    key += '\0';
}

}  // namespace

Database::Database(Server& server, const config::DatabaseEntry& entry, std::uint64_t jitter_seed)
    : server_(server),
      entry_(entry),
      pool_(pool_settings(entry, server.config().housekeeping.wait, jitter_seed),
            server.pool_workloads()),
      orphans_(server.config().workloads.size()),
      fixed_user_(conninfo_value(entry.conninfo, "user")),
      fixed_database_(conninfo_value(entry.conninfo, "dbname")),
      backends_(entry.pool_size),
      proving_(server, *this) {
    if (entry.lock_sampler.conninfo) {
        sampler_ = std::make_unique<LockSampler>(server, *this, entry.lock_sampler);
    }
}

void Database::on_reload() {
    pool_.set_limits(pool_settings(entry_, server_.config().housekeeping.wait, 0));
    pool_.set_workloads(server_.pool_workloads());
    orphans_.set_workload_count(server_.config().workloads.size());
    // Slots that were in use once may be again.
    if (entry_.pool_size > backends_.size()) backends_.resize(entry_.pool_size);
    if (sampler_ != nullptr) sampler_->set_workload_count(server_.config().workloads.size());
}

GroupId Database::join(const LoginRequest& request, config::Pooling pooling) {
    GroupFacts facts{.database = fixed_database_.empty() ? request.database : fixed_database_,
                     .user = fixed_user_.empty() ? request.user : fixed_user_,
                     .startup_parameters = request.parameters,
                     .origin = 0,
                     .greeting = {},
                     .reported = {}};
    std::string key;
    append_part(key, facts.database);
    append_part(key, facts.user);
    for (const auto& [name, value] : facts.startup_parameters) {
        append_part(key, name);
        append_part(key, value);
    }
    if (pooling == config::Pooling::session) append_part(key, "session");
    const GroupId group = pool_.join(key);
    // The same names mean something else on another server.
    append_part(key, entry_.name);
    facts.origin = std::hash<std::string>{}(key);
    groups_.try_emplace(static_cast<std::uint32_t>(group), std::move(facts));
    return group;
}

Database::GroupFacts& Database::facts(GroupId group) {
    return groups_.at(static_cast<std::uint32_t>(group));
}

const ParameterList& Database::greeting(GroupId group) const {
    return groups_.at(static_cast<std::uint32_t>(group)).greeting;
}

const ReportedValues& Database::unset_values(GroupId group) const {
    return groups_.at(static_cast<std::uint32_t>(group)).reported;
}

std::uint64_t Database::origin(GroupId group) const {
    return groups_.at(static_cast<std::uint32_t>(group)).origin;
}

LeaseRules Database::lease_rules(std::size_t workload) const {
    const config::Workload& rules = server_.config().workloads[workload];
    return {.holder_idle = rules.holder_idle_timeout,
            .transaction = rules.transaction_timeout,
            .deadline = rules.deadline,
            .cancel_after_leave = rules.cancel_after_leave,
            .reset_timeout = entry_.reset_timeout,
            .cancel_timeout = entry_.cancel_timeout,
            .statement = workload == server_.housekeeping()
                             ? server_.config().housekeeping.statement_timeout
                             : Duration::zero(),
            .reset_always = rules.reset == config::Reset::always};
}

BackendConnection* Database::find(BackendId id) {
    BackendConnection* backend = backends_[id.slot].get();
    return backend != nullptr && backend->id() == id ? backend : nullptr;
}

void Database::carry_out(Pool::Actions& actions) {
    // By index: an answer may make a session ask again, which appends.
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const PoolAction action = actions[i];
        auto* frontend = static_cast<FrontendConnection*>(action.waiter);
        switch (action.kind) {
            case PoolActionKind::connect: connect(action); break;
            case PoolActionKind::close: find(action.backend)->say_goodbye(); break;
            case PoolActionKind::lend:
                if (!frontend->awaits_backend()) {
                    pool_.give_back(action.backend, server_.now());
                } else {
                    frontend->on_lent(*find(action.backend));
                }
                break;
            case PoolActionKind::refuse:
                if (!frontend->is_dead()) frontend->on_pool_refused(action);
                break;
            case PoolActionKind::greet:
                if (!frontend->is_dead()) frontend->on_greeting();
                break;
            case PoolActionKind::forget:
                groups_.erase(static_cast<std::uint32_t>(action.group));
                break;
        }
    }
    actions.clear();
}

void Database::note_trouble(const ConnectFailure& failure) {
    if (server_.now() < next_trouble_report_) return;
    next_trouble_report_ = server_.now() + kTroubleReportInterval;
    server_.log().warn(
        "backend_connect_failed",
        {{"database", entry_.name}, {"sqlstate", failure.sqlstate}, {"message", failure.message}});
}

void Database::note_cancel_failed(const std::string& why) {
    server_.totals().backend_cancels_failed += 1;
    if (server_.now() < next_cancel_report_) return;
    next_cancel_report_ = server_.now() + kTroubleReportInterval;
    server_.log().warn("cancel_failed", {{"database", entry_.name}, {"reason", why}});
}

void Database::on_gone(BackendConnection& backend) {
    if (backend.is_dead()) return;
    backend.die();
    departed_.forget(backend.id());
    pool_.on_gone(backend.id(), server_.now());
    dead_.push_back(std::move(backends_[backend.id().slot]));
}

void Database::on_orphaned(BackendConnection& backend, Permit permit) {
    pool_.on_orphaned(backend.id());
    const auto workload = static_cast<WorkloadIndex>(index_of(permit.lane()));
    const Duration hold = server_.config().workloads[workload].orphan_hold;
    server_.log().warn("backend_orphaned", {{"database", entry_.name},
                                            {"workload", server_.config().workloads[workload].name},
                                            {"pid", std::int64_t{backend.pid()}}});
    orphans_.add(backend.id(), workload, server_.now() + hold);
    lost_.insert_or_assign(backend.id().slot,
                           LostBackend{backend.id(), std::move(permit), backend.pid()});
    departed_.note_orphaned(backend.id(), server_.now());
    backend.die();
    dead_.push_back(std::move(backends_[backend.id().slot]));
}

bool Database::tick(Instant now) {
    expired_.clear();
    orphans_.expire(now, expired_);
    for (const Orphan& orphan : expired_) {
        server_.log().warn("orphan_released",
                           {{"database", entry_.name},
                            {"workload", server_.config().workloads[orphan.workload].name},
                            {"note", "more than the budget may be running"}});
        release_lost(orphan.backend);
    }
    pool_.tick(now, actions_);
    const bool any = !expired_.empty() || !actions_.empty();
    carry_out(actions_);
    // After the pool: for its backends somebody waits who has a permit.
    proving_.tick(now);
    return any;
}

Instant Database::next_deadline() const {
    return std::min({pool_.next_deadline(), orphans_.next_deadline(), proving_.next_deadline()});
}

void Database::sweep(Instant now) {
    for (std::size_t slot = 0; slot < backends_.size(); ++slot) {
        if (backends_[slot] != nullptr) backends_[slot]->on_tick(now);
    }
}

bool Database::has_closing() const { return pool_.counts().of(BackendState::closing) > 0; }

void Database::delete_dead() { dead_.clear(); }

void Database::shut_down() {
    for (const auto& backend : backends_) {
        if (backend == nullptr || backend->is_closing()) continue;
        if (backend->user() == nullptr) {
            pool_.on_closing(backend->id());
            backend->say_goodbye();
        } else if (backend->user()->session().may_cancel() && !backend->has_cancel_in_flight()) {
            backend->send_cancel();
        }
    }
}

}  // namespace pgb

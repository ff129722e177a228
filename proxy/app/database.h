#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/model.h"
#include "proxy/admin/console/views.h"
#include "proxy/app/backend_connection.h"
#include "proxy/app/departed.h"
#include "proxy/app/lock_sampler.h"
#include "proxy/app/proving.h"
#include "proxy/gate/permit.h"
#include "proxy/io/backend_connector.h"
#include "proxy/pool/orphans.h"
#include "proxy/pool/pool.h"
#include "proxy/session/login.h"
#include "proxy/session/session.h"

namespace pgb {

class Server;
struct PoolView;

/// One entry of `databases` at run time: its pool, its backends, the values its groups are greeted
/// with, and the permits of backends that were lost without an answer.
class Database {
public:
    /// `entry` is changed by reloads and stays where it is.
    Database(Server& server, const config::DatabaseEntry& entry, std::uint64_t jitter_seed);

    /// Its entry or the workloads have changed.
    void on_reload();
    [[nodiscard]] const config::DatabaseEntry& entry() const { return entry_; }
    [[nodiscard]] Pool& pool() { return pool_; }
    [[nodiscard]] const Pool& pool() const { return pool_; }
    [[nodiscard]] std::uint32_t orphaned(WorkloadIndex workload) const {
        return orphans_.count(workload);
    }

    /// The group of a login: database, user and startup parameters, as its backends are opened. Who
    /// keeps a backend for life shares none with those who have one for each transaction: the proxy
    /// leaves statements of its own there.
    GroupId join(const LoginRequest& request, config::Pooling pooling);
    [[nodiscard]] const ParameterList& greeting(GroupId group) const;
    /// The same values, as they are now and will be; valid as long as a session of the group is.
    [[nodiscard]] const ReportedValues& unset_values(GroupId group) const;
    /// A digest of whose backends they are and where.
    [[nodiscard]] std::uint64_t origin(GroupId group) const;
    /// The database and the user as which a group's backends work.
    [[nodiscard]] const std::string& database_of(GroupId group) const {
        return groups_.at(static_cast<std::uint32_t>(group)).database;
    }
    [[nodiscard]] const std::string& user_of(GroupId group) const {
        return groups_.at(static_cast<std::uint32_t>(group)).user;
    }
    /// Passwords that clients say are right.
    [[nodiscard]] Proving& proving() { return proving_; }
    /// Its backends log in as its clients, not all as one that conninfo names.
    [[nodiscard]] bool opens_as_client() const { return fixed_user_.empty(); }
    /// A login as the client itself, but for its password.
    [[nodiscard]] ConnectRequest proof_request(const LoginRequest& request) const;
    /// The timeouts of a permit of this workload on this database.
    [[nodiscard]] LeaseRules lease_rules(std::size_t workload) const;

    [[nodiscard]] BackendConnection* find(BackendId id);

    /// Carries out what the pool decided and clears the list.
    void carry_out(Pool::Actions& actions);
    /// What the pool and the orphans have to do now. True when somebody was answered or a permit
    /// came back, so that others may go on.
    bool tick(Instant now);
    [[nodiscard]] Instant next_deadline() const;
    /// Every few hundredths of a second: backends that are being closed.
    void sweep(Instant now);
    [[nodiscard]] bool has_closing() const;

    void on_connected(BackendId id, ConnectedBackend connected);
    /// What a login of this group's user has opened: the pool's if there is a place, else closed.
    void adopt(GroupId group, ConnectedBackend connected);
    void on_connect_failed(BackendId id, const ConnectFailure& failure);

    /// New sessions of its group are greeted with what a backend reports while nothing is set on it.
    void note_reported(BackendConnection& backend);
    /// A cancel had no effect, or maybe a late one; counted, and logged once in a while.
    void note_cancel_failed(const std::string& why);

    /// The backend's connection has ended. Its place is free; so is its permit, if it kept one.
    void on_gone(BackendConnection& backend);
    /// It did not answer: its permit and its place stay held for the workload's orphan_hold.
    void on_orphaned(BackendConnection& backend, Permit permit);

    /// Appends who has backends or sessions here (live_state.cpp).
    void list_pools(std::vector<PoolView>& out) const;

    // holders.cpp: who holds the permits
    /// Null: the entry has no lock sampler.
    [[nodiscard]] const LockSampler* sampler() const { return sampler_.get(); }
    /// Appends those whose processes a look should show: who is at work, orphans, and whoever was
    /// never seen.
    void list_processes(const ProcessWatch& watch, std::vector<AskedProcess>& out) const;
    /// Appends every connection to PostgreSQL (console_views.cpp).
    void list_backends(std::vector<BackendView>& out) const;
    /// PostgreSQL no longer has the process: its permit and its place are free.
    void on_orphan_gone(BackendId id);
    /// Who held the permits that outlived their clients.
    [[nodiscard]] Departed& departed() { return departed_; }
    [[nodiscard]] const Departed& departed() const { return departed_; }

    void delete_dead();
    /// The program ends: goodbye to the idle, no wait for anyone.
    void shut_down();

private:
    /// What every login of the entry has: all but its number, its user and its password.
    [[nodiscard]] ConnectRequest connect_request(const std::string& database,
                                                 const ParameterList& parameters) const;
    struct GroupFacts {
        std::string database;
        std::string user;
        ParameterList startup_parameters;
        std::uint64_t origin = 0;
        ParameterList greeting;
        ReportedValues reported;  // the same
    };
    /// A backend that does not answer: its place in the pool is kept, its connection is closed.
    struct LostBackend {
        BackendId id;
        Permit permit;
        std::uint32_t pid = 0;
    };
    void connect(const PoolAction& action);
    [[nodiscard]] Secret backend_password(const std::string& user) const;
    void note_greeting(GroupFacts& group, ReportedValues& reported);
    void note_reachability() const;
    void release_lost(BackendId id);
    void note_trouble(const ConnectFailure& failure);
    [[nodiscard]] GroupFacts& facts(GroupId group);

    Server& server_;
    const config::DatabaseEntry& entry_;
    Pool pool_;
    Orphans orphans_;
    std::string fixed_user_;      // named in conninfo: every backend logs in as this one
    std::string fixed_database_;  // the same
    std::vector<std::unique_ptr<BackendConnection>> backends_;  // by slot
    std::vector<std::unique_ptr<BackendConnection>> dead_;
    std::map<std::uint32_t, LostBackend> lost_;  // by slot
    Departed departed_;
    std::unordered_map<std::uint32_t, GroupFacts> groups_;
    Proving proving_;
    Pool::Actions actions_;
    std::vector<Orphan> expired_;
    Instant next_trouble_report_;
    Instant next_cancel_report_;
    std::unique_ptr<LockSampler> sampler_;
};

}  // namespace pgb

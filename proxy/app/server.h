#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/model.h"
#include "proxy/admin/chronicle.h"
#include "proxy/admin/holders.h"
#include "proxy/admin/live_state.h"
#include "proxy/admin/overload.h"
#include "proxy/admin/reload_report.h"
#include "proxy/app/config_in_force.h"
#include "proxy/app/console.h"
#include "proxy/app/database.h"
#include "proxy/app/deadline_watch.h"
#include "proxy/app/doorkeeper.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/idle_watch.h"
#include "proxy/app/live_changes.h"
#include "proxy/app/shadow_report.h"
#include "proxy/app/spare_buffers.h"
#include "proxy/app/tls_doors.h"
#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/base/log.h"
#include "proxy/base/result.h"
#include "proxy/gate/gate.h"
#include "proxy/io/backend_connector.h"
#include "proxy/io/cancel_sender.h"
#include "proxy/io/http.h"
#include "proxy/io/listener.h"
#include "proxy/io/loop.h"
#include "proxy/io/loop_errand.h"
#include "proxy/io/process_facts.h"
#include "proxy/io/service_manager.h"
#include "proxy/io/snapshot_box.h"
#include "proxy/metrics/counters.h"
#include "proxy/metrics/recent_times.h"
#include "proxy/metrics/snapshot.h"
#include "proxy/pool/cancel_keys.h"
#include "proxy/session/outbox.h"
#include "proxy/session/session_slot.h"

namespace pgb {

/// Everything of one running proxy: it owns the gate, the pools, the connections of both sides and
/// the doors, and it turns the crank once per turn of the loop.
///
///   events of a turn only mark connections ready; at its end:
///   backends -> frontends -> gate.dispatch and pool.tick, until quiet -> delete the dead -> timer
///
/// Backends first: an answer that ends a transaction, or the end of an idle backend's connection,
/// is known before a frontend is given a backend. No global state: several could live in a process.
class Server {
    /// Only ever goes on.
    enum class Stage : std::uint8_t {
        starting,  ///< The doors are not open yet.
        serving,
        leaving,   ///< As serving, but not ready: drain.delay.
        draining,  ///< No new clients and transactions; those that run may end.
        stopping,  ///< The last cancels are on their way to PostgreSQL.
        stopped,
    };

public:
    Server(Loop& loop, Log& log, const config::Config& config, ServiceManager& manager);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Opens the doors and the HTTP addresses. An error names the one that could not be opened, or
    /// the one of `inherited` on which no door of the file is.
    Result<bool> start(InheritedSockets& inherited);
    /// Not ready from now on; after drain.delay no new clients and transactions. Ends the loop when the
    /// last one is over, at the latest drain.timeout from now. A second call ends it at once.
    void drain();
    /// Ends the loop after this turn.
    void stop();

    // reload.cpp
    /// Puts in force what of it is live, at once and for everybody; says what is different.
    std::vector<config::Change> reload(const config::Config& wanted);
    [[nodiscard]] ReloadFigures& reload_figures() { return reload_figures_; }
    /// Changes of workloads past the file.
    [[nodiscard]] LiveChanges& live_changes() { return live_changes_; }
    [[nodiscard]] Consoles& consoles() { return consoles_; }
    /// What a reload over HTTP or the console does; without, the program has no file.
    void on_reload_request(std::function<ReloadReport(std::string_view trigger)> reload) {
        reload_ = std::move(reload);
    }
    ReloadReport reload_file(std::string_view trigger) {
        return reload_ ? reload_(trigger) : ReloadReport{.outcome = ReloadReport::Outcome::no_file};
    }
    /// By number, as the pools know them.
    [[nodiscard]] std::vector<PoolWorkload> pool_workloads() const;

    // What connections need.
    [[nodiscard]] Loop& loop() { return loop_; }
    [[nodiscard]] Log& log() { return log_; }
    [[nodiscard]] ServiceManager& service_manager() { return service_manager_; }
    /// A reload changes it in place, between two turns.
    [[nodiscard]] const config::Config& config() const { return config_.values(); }
    [[nodiscard]] const ConfigInForce& rules() const { return config_; }
    /// The number of the workload that is the lane of housekeeping.
    [[nodiscard]] std::size_t housekeeping() const { return config_.housekeeping(); }
    [[nodiscard]] Gate& gate() { return gate_; }
    [[nodiscard]] Outbox& outbox() { return outbox_; }
    [[nodiscard]] std::span<char> read_buffer() { return read_buffer_; }
    [[nodiscard]] SpareBuffers& spare_buffers() { return spare_buffers_; }
    [[nodiscard]] const SessionTables& tables() const { return tables_; }
    [[nodiscard]] AwakeSessions& awake_sessions() { return awake_sessions_; }
    [[nodiscard]] BackendConnector& connector() { return *connector_; }
    [[nodiscard]] Doorkeeper& doorkeeper() { return doorkeeper_; }
    [[nodiscard]] CancelSender& cancel_sender() { return cancel_sender_; }
    [[nodiscard]] CancelKeys& cancel_keys() { return cancel_keys_; }
    [[nodiscard]] TlsDoors& tls_doors() { return tls_doors_; }
    [[nodiscard]] IdleWatch& idle_watch() { return idle_watch_; }
    [[nodiscard]] DeadlineWatch& deadlines() { return deadlines_; }
    [[nodiscard]] Totals& totals() { return totals_; }
    [[nodiscard]] WorkloadTimes& times(std::size_t workload) { return times_[workload]; }
    [[nodiscard]] Instant now() const { return loop_.now(); }
    [[nodiscard]] bool is_draining() const { return stage_ >= Stage::draining; }
    [[nodiscard]] std::vector<Settled>& settled() { return settled_; }
    /// It left between its grant and the moment it would have been told: the permit goes back.
    void forget_settled(FrontendConnection& frontend);
    [[nodiscard]] Pool::Actions& pool_actions() { return pool_actions_; }

    void mark_ready(FrontendConnection& frontend);
    void mark_ready(BackendConnection& backend);
    /// It gets a read_pending() in the next turn: who sends much has a turn like everybody else.
    void read_later(FrontendConnection& frontend) {
        read_later_.push_back(frontend.id());
        loop_.again();
    }
    /// The frontend holds a permit or a backend, or waits for its work to end: it gets ticks.
    void note_holding(FrontendConnection& frontend);
    void note_not_holding(FrontendConnection& frontend);

    [[nodiscard]] Database* database_for(std::string_view name);
    [[nodiscard]] FrontendConnection* find_frontend(std::uint64_t id);
    void login_finished(FrontendConnection& frontend);
    [[nodiscard]] bool too_many_clients() const;
    void note_dead(FrontendConnection& frontend);

    /// What a refusal of this workload says now; its time to come back is promised to `refused`.
    /// `not_before`: what is known of that time, if the gate is not what it lacks.
    [[nodiscard]] ShedFacts shed_facts(Waiter& refused, std::size_t workload, ShedReason reason,
                                       Duration waited = {}, Duration not_before = {});
    /// An id for a connect, and whose it was when the answer comes.
    std::uint64_t new_connect(Database& database, BackendId id);
    std::uint64_t new_connect(LockSampler& sampler);
    std::uint64_t new_connect(Proving& proving);

    /// What a session has noted about the deadlines of its transactions.
    void note_deadlines(std::size_t workload, DeadlineNotes notes);

    // holders.cpp: who holds the permits
    /// A held permit goes back.
    void note_permit_back(const Permit& permit);
    /// The holders, all or those of one workload; the oldest are told in full.
    [[nodiscard]] HolderList holders(std::optional<std::size_t> workload, std::size_t count) const;

    /// What happened, for people.
    [[nodiscard]] Chronicle& chronicle() { return chronicle_; }

private:
    friend class Consoles;  // shows everything
    struct PendingConnect {
        Database* database = nullptr;
        BackendId id;
        LockSampler* sampler = nullptr;  // not null: the connection is for it
        Proving* proving = nullptr;      // the same
    };
    struct StampedSnapshot {
        Snapshot snapshot;
        Instant made;
    };

    void on_connected(ConnectedBackend connected);
    void on_connect_failed(const ConnectFailure& failure);
    PendingConnect take_connect(std::uint64_t number);
    void accept(const DoorFacts& door, AcceptedConnection connection);
    Result<bool> open_doors(InheritedSockets& inherited);
    Result<bool> open_door(const config::Listener& listener, InheritedSockets& inherited);
    Result<bool> open_http(const config::Address& address, bool is_for_people);
    // admin_pages.cpp; called on the threads of HTTP
    [[nodiscard]] HttpAnswer answer_people(const HttpRequest& request);
    [[nodiscard]] HttpAnswer answer_probes(const HttpRequest& request);
    [[nodiscard]] HttpAnswer answer_holders_page();
    [[nodiscard]] HttpAnswer answer_reload_page(const HttpRequest& request);
    [[nodiscard]] HttpAnswer answer_state_page();
    [[nodiscard]] HttpAnswer answer_workload_page(const HttpRequest& request,
                                                  const std::string& workload);
    [[nodiscard]] std::optional<HttpAnswer> refuse_to_change(const HttpRequest& request) const;
    [[nodiscard]] std::string next_events(bool is_first);
    // live_state.cpp
    [[nodiscard]] LiveState live_state();
    void begin_overload(std::size_t workload, ShedReason reason, Instant refusal_before);
    void end_overload(std::size_t workload, Instant last_refusal);
    void note_ended_overloads();
    void end_turn();
    void work_ready();
    void take_up_reads();
    void dispatch_until_quiet();
    bool dispatch();
    void sweep();
    void look_at_deadlines();
    void look_at_idle();
    void delete_dead();
    void arm_timer();
    void continue_drain();
    void continue_stop();
    void tell_all_of_the_end();
    [[nodiscard]] std::vector<std::uint64_t> frontend_ids() const;
    void begin_drain();
    void set_lanes();
    void class_sessions();
    void note_overload(std::size_t workload, ShedReason reason);
    void log_overload(std::size_t workload, ShedReason reason);
    [[nodiscard]] Snapshot make_snapshot() const;
    [[nodiscard]] WorkloadSnapshot workload_snapshot(std::size_t workload) const;
    [[nodiscard]] Readiness readiness() const;
    [[nodiscard]] Duration retry_after(Waiter& refused, std::size_t workload, ShedReason reason,
                                       Duration not_before);
    double random_fraction();
    [[nodiscard]] std::uint32_t limit_in_force(LaneId lane) const;

    Loop& loop_;
    Log& log_;
    ServiceManager& service_manager_;
    ConfigInForce config_;
    StateTracking tracking_;
    SessionTables tables_;
    StatementRegistry statements_;
    AwakeSessions awake_sessions_;
    Gate gate_;
    CancelKeys cancel_keys_;
    CancelSender cancel_sender_;
    IdleWatch idle_watch_;
    DeadlineWatch deadlines_;
    Doorkeeper doorkeeper_;
    Totals totals_;
    ReloadFigures reload_figures_;
    LiveChanges live_changes_;
    Consoles consoles_;
    std::vector<WorkloadTimes> times_;
    std::vector<std::unique_ptr<Database>> databases_;
    std::unordered_map<std::uint64_t, std::unique_ptr<FrontendConnection>> frontends_;
    std::unordered_map<std::uint64_t, PendingConnect> connects_;
    TlsDoors tls_doors_;
    const DoorTls* admin_tls_ = nullptr;
    std::vector<std::unique_ptr<DoorFacts>> door_facts_;
    std::vector<std::unique_ptr<Listener>> doors_;
    std::unique_ptr<BackendConnector> connector_;
    const ProcessFacts process_facts_;
    std::unique_ptr<SnapshotBox<StampedSnapshot>> snapshots_;
    std::unique_ptr<SnapshotBox<HolderList>> holder_lists_;
    std::unique_ptr<SnapshotBox<LiveState>> live_states_;
    std::unique_ptr<LoopErrand<ReloadReport>> reloads_;
    std::unique_ptr<LoopErrand<LiveChangeReport>> change_errands_;
    std::function<ReloadReport(std::string_view)> reload_;
    config::Admin admin_;  // as at the start, for the threads of HTTP
    std::vector<std::unique_ptr<HttpServer>> http_;
    OverloadWatch overloads_{0};
    Chronicle chronicle_;
    std::vector<std::pair<std::size_t, ShedReason>> begun_overloads_;  // not logged yet

    IntrusiveList<FrontendConnection, ReadyFrontends> ready_frontends_;
    IntrusiveList<BackendConnection, ReadyBackends> ready_backends_;
    IntrusiveList<FrontendConnection, HoldingFrontends> holding_;
    IntrusiveList<FrontendConnection, LoggingInFrontends> logging_in_;  // oldest first
    std::vector<std::uint64_t> dead_frontends_;
    std::vector<std::uint64_t> read_later_;
    std::vector<Settled> settled_;
    std::vector<Settled> settling_;
    Pool::Actions pool_actions_;  // empty between calls; kept for its capacity
    Outbox outbox_;
    std::vector<char> read_buffer_;
    SpareBuffers spare_buffers_;
    ShadowReport shadow_report_;
    Timer timer_;
    Instant started_at_;
    double started_unix_seconds_ = 0;
    RecentTimes recent_times_{started_at_};
    Instant next_sweep_ = Instant::never();
    Instant next_silence_look_;
    Instant drain_started_ = Instant::never();
    Instant stop_by_ = Instant::never();
    std::uint64_t next_frontend_ = 1;
    std::uint64_t next_connect_ = 1;
    std::uint64_t random_state_;
    std::size_t clients_that_fit_ = 0;  // by the limit of open files
    Stage stage_ = Stage::starting;
};

}  // namespace pgb

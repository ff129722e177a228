#include "proxy/app/server.h"

#include "protocol/sqlstate.h"
#include "proxy/app/version.h"
#include "proxy/base/check.h"
#include "proxy/io/clock.h"
#include "proxy/io/limits.h"
#include "proxy/io/random.h"
#include "proxy/io/socket_address.h"

namespace pgb {

namespace {

// What one read may bring; as much as a socket's buffer holds by default.
constexpr std::size_t kReadBufferSize = std::size_t{64} << 10;
// Holders are looked at this often: fine enough for timeouts of seconds, cheap for a few hundred.
constexpr Duration kSweepInterval = std::chrono::milliseconds(50);
// One or two system calls for each holder; it adds to limits.tcp_user_timeout.
constexpr Duration kSilenceInterval = std::chrono::seconds(1);
// The oldest; a page that nobody would read to its end helps nobody.
constexpr std::size_t kHoldersShown = 200;
// A startup packet comes at once; without one a client cannot be told that the program ends.
constexpr Duration kLastLogins = std::chrono::seconds(1);
// Descriptors that belong to no client and no pool: 68 of HTTP, 16 cancels, doors, loops, watches.
constexpr std::uint64_t kOtherFiles = 128;
// Each round settles what the one before made possible; more than a few means a loop of ours.
constexpr int kDispatchRoundsMax = 64;

std::uint64_t random_seed() {
    std::uint64_t seed = 0;
    fill_random({reinterpret_cast<char*>(&seed), sizeof seed});
    return seed | 1;
}

// However many clients come: backends, cancels, the doors and whoever asks over HTTP have theirs.
std::size_t clients_that_fit(const config::Config& config, std::uint64_t open_files) {
    std::uint64_t others = kOtherFiles;
    for (const config::DatabaseEntry& database : config.databases) others += database.pool_size + 1;
    return static_cast<std::size_t>(open_files > 2 * others ? open_files - others : open_files / 2);
}

}  // namespace

Server::Server(Loop& loop, Log& log, const config::Config& config, ServiceManager& manager)
    : loop_(loop),
      log_(log),
      service_manager_(manager),
      config_(config),
      tables_{frontend_heads(static_cast<std::uint32_t>(config.limits.max_message_buffer)),
              backend_heads(static_cast<std::uint32_t>(config.limits.max_message_buffer)),
              &tracking_},
      statements_({.session_max = config.limits.max_prepared_statements,
                   .backend_max = config.limits.max_backend_statements,
                   .memory_max = config.limits.max_statement_memory}),
      awake_sessions_(tables_, statements_),
      cancel_sender_(loop),
      idle_watch_(config.limits.client_idle_timeout),
      doorkeeper_(loop, log, config_.values(),
                  {.on_ready =
                       [this](std::uint64_t login) {
                           FrontendConnection* frontend = find_frontend(login);
                           if (frontend != nullptr) frontend->on_verifier_ready();
                       },
                   .on_peer_name =
                       [this](std::uint64_t login, const std::optional<std::string>& name) {
                           FrontendConnection* frontend = find_frontend(login);
                           if (frontend != nullptr) frontend->on_peer_name(name);
                       }}),
      live_changes_(*this),
      consoles_(*this),
      tls_doors_(loop, log,
                 [this](std::uint64_t id, std::unique_ptr<TlsStream> stream, HandshakeStep step) {
                     if (FrontendConnection* frontend = find_frontend(id); frontend != nullptr) {
                         frontend->on_handshake(std::move(stream), step);
                     }
                 }),
      read_buffer_(kReadBufferSize),
      timer_(loop, [] {}),
      started_at_(loop.now()),
      random_state_(random_seed()) {
    set_lanes();
    class_sessions();
    for (const config::DatabaseEntry& entry : this->config().databases) {
        databases_.push_back(std::make_unique<Database>(*this, entry, random_seed()));
    }
    connector_ = std::make_unique<BackendConnector>(
        loop,
        ConnectorCallbacks{
            .on_connected =
                [this](ConnectedBackend connected) { on_connected(std::move(connected)); },
            .on_failed = [this](const ConnectFailure& failure) { on_connect_failed(failure); }});
    loop.set_turn_end([this] { end_turn(); });
}

Server::~Server() {
    loop_.set_turn_end({});
    http_.clear();
    snapshots_.reset();
    holder_lists_.reset();
    live_states_.reset();
    doors_.clear();
    connector_.reset();
    // What is left is dropped; nobody is told, so the books of queues are emptied by hand.
    for (const auto& [id, frontend] : frontends_) {
        gate_.cancel(*frontend, Leave::left);
        if (static_cast<ListHook<ReadyFrontends>&>(*frontend).is_linked()) {
            ready_frontends_.remove(*frontend);
        }
        note_not_holding(*frontend);
        login_finished(*frontend);
    }
    while (!ready_backends_.empty()) ready_backends_.pop_front();
    settled_.clear();
    frontends_.clear();
    databases_.clear();
}

Result<bool> Server::start(InheritedSockets& inherited) {
    snapshots_ = std::make_unique<SnapshotBox<StampedSnapshot>>(loop_, [this] {
        return StampedSnapshot{make_snapshot(), loop_.now()};
    });
    if (Result<bool> opened = open_doors(inherited); !opened) return opened;
    stage_ = Stage::serving;
    started_unix_seconds_ = unix_seconds();
    reload_figures_.last_success_seconds = started_unix_seconds_;
    chronicle_.note(EventKind::started, {}, "version " + std::string(kVersion),
                    started_unix_seconds_);
    snapshots_->publish();
    holder_lists_ = std::make_unique<SnapshotBox<HolderList>>(
        loop_, [this] { return holders(std::nullopt, kHoldersShown); });
    live_states_ = std::make_unique<SnapshotBox<LiveState>>(loop_, [this] { return live_state(); });
    change_errands_ =
        std::make_unique<LoopErrand<LiveChangeReport>>(loop_, std::function<LiveChangeReport()>());
    reloads_ =
        std::make_unique<LoopErrand<ReloadReport>>(loop_, [this] { return reload_file("http"); });
    admin_ = config().admin;
    Result<const DoorTls*> admin_tls = tls_doors_.open(config().admin.tls);
    if (!admin_tls) return std::move(admin_tls.error());
    admin_tls_ = admin_tls.value();
    clients_that_fit_ = clients_that_fit(config(), raise_open_files());
    // What clients do is not for everyone who may ask for probes.
    const std::pair<const std::optional<config::Address>&, bool> http[] = {
        {config().admin.http, true}, {config().admin.probes, false}};
    for (const auto& [address, shows_holders] : http) {
        if (!address) continue;
        if (Result<bool> opened = open_http(*address, shows_holders); !opened) return opened;
    }
    arm_timer();
    return true;
}

Result<bool> Server::open_doors(InheritedSockets& inherited) {
    for (const config::Listener& listener : config().listen) {
        if (Result<bool> opened = open_door(listener, inherited); !opened) return opened;
    }
    // Whoever connects to it would wait for ever.
    const std::vector<std::string> left = inherited.left();
    if (left.empty()) return true;
    return Error{
        "the service manager listens on " + left.front() + ", and no entry of `listen` does", 0};
}

Result<bool> Server::open_door(const config::Listener& listener, InheritedSockets& inherited) {
    Result<DoorRules> rules = doorkeeper_.open(listener.auth);
    if (!rules) return std::move(rules.error());
    Result<const DoorTls*> tls = tls_doors_.open(listener);
    if (!tls) return std::move(tls.error());
    door_facts_.push_back(std::make_unique<DoorFacts>(DoorFacts{
        listener.name, listener.unix_socket_dir.has_value(), rules.value(), tls.value()}));
    const DoorFacts& facts = *door_facts_.back();
    ListenerCallbacks callbacks{
        .on_accept = [this,
                      &facts](AcceptedConnection accepted) { accept(facts, std::move(accepted)); },
        .on_trouble =
            [this, &facts](int error, std::uint64_t count) {
                log_.warn("accept_failed", {{"listener", facts.name},
                                            {"errno", std::int64_t{error}},
                                            {"count", static_cast<std::int64_t>(count)}});
            }};
    Result<std::unique_ptr<Listener>> door =
        facts.is_unix ? Listener::open(loop_,
                                       UnixEndpoint{*listener.unix_socket_dir, listener.port,
                                                    listener.unix_socket_mode},
                                       std::move(callbacks), &inherited)
                      : Listener::open(loop_, TcpEndpoint{*listener.address, listener.port},
                                       std::move(callbacks), &inherited);
    if (!door) return std::move(door.error());
    for (const std::string& address : door.value()->addresses()) {
        log_.info("listening", {{"listener", facts.name}, {"address", address}});
    }
    doors_.push_back(std::move(door.value()));
    return true;
}

void Server::accept(const DoorFacts& door, AcceptedConnection connection) {
    ++totals_.clients_accepted;
    if (!door.is_unix) {
        set_tcp_options(connection.fd, keepalive_options(config().limits.tcp_keepalive,
                                                         config().limits.tcp_user_timeout));
    }
    const std::uint64_t id = next_frontend_++;
    auto frontend = std::make_unique<FrontendConnection>(*this, id, connection.fd, door,
                                                         std::move(connection.peer));
    FrontendConnection& accepted = *frontend;
    frontends_.emplace(id, std::move(frontend));
    logging_in_.push_back(accepted);
    if (logging_in_.size() > config().limits.max_startup) {
        ++totals_.clients_refused;
        accepted.on_login_failed(sqlstate::kTooManyConnections,
                                 "sorry, too many clients are starting up");
    } else if (frontends_.size() > clients_that_fit_) {
        ++totals_.clients_refused;
        accepted.on_login_failed(sqlstate::kTooManyConnections,
                                 "sorry, too many clients for the limit of open files");
    }
}

void Server::mark_ready(FrontendConnection& frontend) {
    if (!static_cast<ListHook<ReadyFrontends>&>(frontend).is_linked()) {
        ready_frontends_.push_back(frontend);
    }
}

void Server::mark_ready(BackendConnection& backend) {
    if (!backend.is_linked()) ready_backends_.push_back(backend);
}

void Server::note_holding(FrontendConnection& frontend) {
    if (static_cast<ListHook<HoldingFrontends>&>(frontend).is_linked()) return;
    holding_.push_back(frontend);
}

void Server::note_not_holding(FrontendConnection& frontend) {
    deadlines_.forget(frontend);
    if (static_cast<ListHook<HoldingFrontends>&>(frontend).is_linked()) holding_.remove(frontend);
}

void Server::login_finished(FrontendConnection& frontend) {
    if (static_cast<ListHook<LoggingInFrontends>&>(frontend).is_linked()) {
        logging_in_.remove(frontend);
    }
}

void Server::note_dead(FrontendConnection& frontend) { dead_frontends_.push_back(frontend.id()); }

bool Server::too_many_clients() const {
    const std::size_t others = logging_in_.size() + consoles_.size();
    return frontends_.size() - std::min(frontends_.size(), others) >= config().limits.max_clients;
}

Database* Server::database_for(std::string_view name) {
    Database* any = nullptr;
    for (const auto& database : databases_) {
        if (database->entry().name == name) return database.get();
        if (database->entry().name == "*") any = database.get();
    }
    return any;
}

FrontendConnection* Server::find_frontend(std::uint64_t id) {
    const auto found = frontends_.find(id);
    return found == frontends_.end() ? nullptr : found->second.get();
}

void Server::end_turn() {
    if (stage_ == Stage::stopped) return;
    take_up_reads();
    work_ready();
    if (deadlines_.next_deadline() <= loop_.now()) look_at_deadlines();
    dispatch_until_quiet();
    consoles_.look();
    if (loop_.now() >= next_sweep_) sweep();
    look_at_idle();
    awake_sessions_.look(loop_.now());
    for (const auto& [workload, reason] : begun_overloads_) log_overload(workload, reason);
    begun_overloads_.clear();
    if (stage_ == Stage::stopping) {
        continue_stop();
    } else if (stage_ >= Stage::leaving) {
        continue_drain();
    }
    delete_dead();
    arm_timer();
}

void Server::take_up_reads() {
    if (read_later_.empty()) return;
    std::vector<std::uint64_t> marked;
    marked.swap(read_later_);
    for (const std::uint64_t id : marked) {
        if (FrontendConnection* frontend = find_frontend(id); frontend != nullptr) {
            frontend->read_pending();
        }
    }
}

void Server::work_ready() {
    while (!ready_backends_.empty()) ready_backends_.pop_front().work();
    while (!ready_frontends_.empty()) ready_frontends_.pop_front().work();
}

void Server::dispatch_until_quiet() {
    for (int round = 0; round < kDispatchRoundsMax; ++round) {
        if (!dispatch()) return;
    }
    loop_.again();
}

// One round; true when somebody was answered, which may have made room for others.
bool Server::dispatch() {
    gate_.dispatch(loop_.now(), settled_);
    settling_.swap(settled_);
    bool any = !settling_.empty() || !ready_backends_.empty() || !ready_frontends_.empty();
    for (Settled& settled : settling_) {
        if (settled.waiter == nullptr) continue;
        static_cast<FrontendConnection*>(settled.waiter)->on_settled(settled);
    }
    settling_.clear();
    for (const auto& database : databases_) {
        if (database->tick(loop_.now())) any = true;
    }
    work_ready();
    return any || !settled_.empty();
}

void Server::forget_settled(FrontendConnection& frontend) {
    for (std::vector<Settled>* list : {&settled_, &settling_}) {
        for (Settled& settled : *list) {
            if (settled.waiter != &frontend) continue;
            settled.waiter = nullptr;
            settled.permit.release();
        }
    }
}

void Server::sweep() {
    const Instant now = loop_.now();
    if (now >= next_silence_look_) {
        next_silence_look_ = now + kSilenceInterval;
        holding_.for_each([](FrontendConnection& frontend) { frontend.look_for_silence(); });
    }
    holding_.for_each([](FrontendConnection& frontend) { frontend.on_tick(); });
    for (const auto& database : databases_) database->sweep(now);
    shadow_report_.look(gate_, now, log_);
    const Duration patience =
        is_draining() ? std::min(config().auth.timeout, kLastLogins) : config().auth.timeout;
    while (!logging_in_.empty() && now - logging_in_.front().opened_at() >= patience) {
        FrontendConnection& late = logging_in_.front();
        late.login_timed_out();
        login_finished(late);
    }
    dispatch_until_quiet();
}

void Server::delete_dead() {
    for (const std::uint64_t id : dead_frontends_) {
        const auto found = frontends_.find(id);
        if (found == frontends_.end()) continue;
        if (static_cast<ListHook<ReadyFrontends>&>(*found->second).is_linked()) {
            ready_frontends_.remove(*found->second);
        }
        note_not_holding(*found->second);
        frontends_.erase(found);
    }
    dead_frontends_.clear();
    for (const auto& database : databases_) database->delete_dead();
}

void Server::arm_timer() {
    const Instant now = loop_.now();
    bool wants_sweep = !holding_.empty() || !logging_in_.empty() || stage_ >= Stage::leaving;
    Instant next = std::min({gate_.next_deadline(), deadlines_.next_deadline(),
                             idle_watch_.next_deadline(), awake_sessions_.next_look(now)});
    for (const auto& database : databases_) {
        next = std::min(next, database->next_deadline());
        wants_sweep = wants_sweep || database->has_closing();
    }
    if (!wants_sweep) {
        next_sweep_ = Instant::never();
    } else if (next_sweep_.is_never() || next_sweep_ <= now) {
        next_sweep_ = now + kSweepInterval;
    }
    timer_.arm(std::min(next, next_sweep_));
}

}  // namespace pgb

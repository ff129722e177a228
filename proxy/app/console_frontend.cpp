// A frontend whose database is the console, and what the console shows of any frontend. Everything here
// belongs to FrontendConnection.

#include "protocol/sqlstate.h"
#include "proxy/app/backend_connection.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"
#include "proxy/app/version.h"
#include "proxy/io/random.h"

namespace pgb {

namespace {

/// What drivers are told of this server; its version is the one whose features they may expect.
ParameterList console_parameters(const LoginRequest& request) {
    return {{"application_name", shown(request.application_name)},
            {"client_encoding", "UTF8"},
            {"DateStyle", "ISO, MDY"},
            {"default_transaction_read_only", "off"},
            {"in_hot_standby", "off"},
            {"integer_datetimes", "on"},
            {"IntervalStyle", "postgres"},
            {"is_superuser", "off"},
            {"server_encoding", "UTF8"},
            {"server_version", std::string("15.0 (pgbulkhead ") + kVersion + ')'},
            {"session_authorization", request.user},
            {"standard_conforming_strings", "on"},
            {"TimeZone", "UTC"}};
}

std::string_view session_word(SessionState state) {
    switch (state) {
        case SessionState::idle: return "idle";
        case SessionState::queued: return "queued";
        case SessionState::waiting_backend: return "waiting_backend";
        case SessionState::preparing:
        case SessionState::starting:
        case SessionState::active: return "active";
        case SessionState::settling: return "settling";
        case SessionState::winding_up: return "winding_up";
        case SessionState::closed: return "closed";
    }
    return "closed";
}

}  // namespace

bool FrontendConnection::is_for_console() const {
    return server_.consoles().serves(login_->request().database);
}

// The console has places of its own, and takes none from clients.
bool FrontendConnection::check_room() {
    const bool for_console = is_for_console();
    const bool has_room =
        for_console ? server_.consoles().has_place() : !server_.too_many_clients();
    if (!has_room) refuse_for_room(for_console);
    return has_room;
}

void FrontendConnection::refuse_for_room(bool for_console) {
    server_.totals().clients_refused += 1;
    on_login_failed(sqlstate::kTooManyConnections,
                    for_console ? "sorry, too many sessions of the console already"
                                : "sorry, too many clients already");
}

void FrontendConnection::begin_console() {
    const LoginRequest& request = login_->request();
    is_authenticated_ = true;
    // To change something a name must be more than claimed.
    const bool is_proved = door_.rules.method != config::AuthMethod::trust || door_.is_unix;
    // Only now is it known who it is; and others may have come in meanwhile.
    if (!server_.consoles().has_place_for(request.user, is_proved)) {
        refuse_for_room(true);
        return;
    }
    std::uint32_t seed = 0;
    fill_random({reinterpret_cast<char*>(&seed), sizeof seed});
    const std::string key = new_cancel_key();
    pid_ = server_.cancel_keys().issue(id_, key, seed);
    server_.consoles().begin(id_, request.user, is_proved);
    std::string reply;
    append_greeting(reply, console_parameters(request), pid_, key);
    server_.login_finished(*this);
    authenticating_.reset();
    login_.reset();
    phase_ = FrontendPhase::console;
    say(reply);
    if (!is_dead() && !input_.empty()) server_.mark_ready(*this);
}

std::size_t FrontendConnection::feed_console(std::string_view view) {
    Consoles& consoles = server_.consoles();
    std::size_t used = 0;
    // What is not read holds back what would be answered.
    while (!is_ending() && output_.size() <= server_.config().limits.high_watermark) {
        ConsoleSession& session = consoles.session(id_);
        std::string reply;
        if (const ConsoleCommand* command = session.wanted()) {
            if (consoles.is_waiting(id_)) break;
            const std::optional<ConsoleReply> result = consoles.carry_out(*this, *command);
            if (is_ending() || !result) break;
            session.answer(*result, reply);
        } else {
            const std::size_t taken = session.on_bytes(view.substr(used), reply);
            used += taken;
            if (taken == 0 && reply.empty()) break;
        }
        const bool is_over = session.is_closed();
        say(reply);
        if (is_over && !is_dead()) close_soon();
    }
    return is_ending() ? view.size() : used;
}

void FrontendConnection::pump_console() {
    if (is_ending()) return;
    if (input_.empty()) {
        feed_console({});
        if (!is_dead()) update_reading();
    } else {
        pump();
    }
}

void FrontendConnection::on_console_answer(const ConsoleReply& reply) {
    if (is_ending()) return;
    std::string text;
    server_.consoles().session(id_).answer(reply, text);
    say(text);
    pump_console();
}

// Its client may have ended its direction only: what was answered already is still sent.
void FrontendConnection::end_console() { close_soon(); }

void FrontendConnection::on_kill() {
    if (is_ending()) return;
    switch (phase_) {
        case FrontendPhase::login:
        case FrontendPhase::cancelling: die(); return;
        case FrontendPhase::session:
            session_->on_kill(turn(), output_is_blocked(), server_.outbox());
            carry_out();
            pump();
            return;
        case FrontendPhase::console: {
            std::string text;
            append_fatal(text, sqlstate::kAdminShutdown,
                         "terminating connection due to administrator command");
            say(text);
            if (!is_dead()) close_soon();
            return;
        }
        case FrontendPhase::dead: return;
    }
}

ClientView FrontendConnection::client_view() const {
    ClientView view{.id = id_,
                    .state = "login",
                    .client = peer_.empty() ? "unix" : peer_,
                    .user = {},
                    .database = {},
                    .application_name = {},
                    .workload = {},
                    .pid = 0,
                    .age = server_.now() - opened_at_,
                    .listener = door_.name};
    if (phase_ == FrontendPhase::console) {
        view.state = "console";
        view.user = server_.consoles().user(id_);
        view.database = server_.config().admin.console_database;
    }
    if (phase_ == FrontendPhase::cancelling) view.state = "cancelling";
    if (phase_ != FrontendPhase::session) return view;
    view.state = session_word(session_.state());
    view.user = database_->user_of(group_);
    view.database = database_->database_of(group_);
    view.application_name = session_.told("application_name");
    view.workload = server_.config().workloads[workload_].name;
    if (backend_ != nullptr) view.pid = backend_->pid();
    return view;
}

std::optional<WaiterView> FrontendConnection::waiter_view() const {
    if (is_dead()) return std::nullopt;
    const auto view = [this](std::string_view what, Instant since) {
        return WaiterView{client_view(), what, server_.now() - since};
    };
    if (Waiter::parked()) return view("parked", arrived_at_);
    if (Waiter::waiting()) return view("permit", Waiter::arrived());
    if (PoolWaiter::waiting()) {
        return view(phase_ == FrontendPhase::login ? "greeting" : "backend", PoolWaiter::asked());
    }
    return std::nullopt;
}

std::optional<PinView> FrontendConnection::pin_view() const {
    if (phase_ != FrontendPhase::session || backend_ == nullptr) return std::nullopt;
    if (pooling_ == config::Pooling::session) return PinView{client_view(), "session"};
    if (!session_.is_awake() || !session_->is_pinned()) return std::nullopt;
    return PinView{client_view(), "state"};
}

}  // namespace pgb

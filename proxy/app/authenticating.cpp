// A frontend between its startup packet and the pool: it says who it is, as its door demands. Nothing
// of a workload, a budget or a pool is touched before that. Everything here belongs to
// FrontendConnection.

#include "proxy/app/authenticating.h"

#include <cstring>

#include "config/forms.h"
#include "protocol/sqlstate.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"
#include "proxy/io/peer_name.h"
#include "proxy/io/random.h"
#include "proxy/io/socket_address.h"

namespace pgb {

namespace {

// As PostgreSQL's SCRAM_RAW_NONCE_LEN.
constexpr std::size_t kNonceSize = 18;

}  // namespace

void FrontendConnection::begin_authentication() {
    if (server_.is_draining()) {
        refuse_for_drain();
        return;
    }
    if (!check_room()) return;
    switch (door_.rules.method) {
        case config::AuthMethod::trust: begin_login(); return;
        case config::AuthMethod::scram_sha_256: ask_for(AuthenticationKind::scram); return;
        case config::AuthMethod::passthrough: ask_for_password(); return;
        case config::AuthMethod::peer: ask_peer_name(); return;
        case config::AuthMethod::cert: judge_certificate(); return;
    }
}

bool FrontendConnection::has_asked_to_log_in() const {
    return authenticating_ != nullptr || is_authenticated_;
}

void FrontendConnection::refuse_for_drain() {
    on_login_failed(sqlstate::kCannotConnectNow, "the proxy is shutting down");
}

void FrontendConnection::ask_for(AuthenticationKind kind) {
    authenticating_ = std::make_unique<Authenticating>();
    const TlsStream* tls = link_.tls();
    authenticating_->machine.emplace(kind, login_->request().user,
                                     tls == nullptr ? "" : tls->context().end_point_hash(),
                                     random_bytes(kNonceSize));
    std::string& reply = server_.outbox().scratch();
    authenticating_->machine->begin(reply);
    say(reply);
}

// A password in the clear is asked for only where nobody can read it on its way.
void FrontendConnection::ask_for_password() {
    const bool is_private = door_.is_unix || config::is_loopback(address_host(peer_));
    if (!is_private && !link_.is_tls() && !door_.rules.allow_insecure) {
        server_.doorkeeper().note_refused(door_.name, login_->request().user, peer_,
                                          "the password would travel in the clear");
        on_login_failed(sqlstate::kInvalidAuthorizationSpecification,
                        "the connection is not encrypted, and the password would travel in the "
                        "clear");
        return;
    }
    ask_for(AuthenticationKind::password);
}

void FrontendConnection::ask_peer_name() {
    const std::optional<std::uint32_t> user_id = peer_user_id(link_.fd());
    if (!user_id) {
        refuse_method("Peer");
        return;
    }
    authenticating_ = std::make_unique<Authenticating>();
    authenticating_->waits = true;
    server_.doorkeeper().ask_peer_name(*user_id, id_);
}

void FrontendConnection::on_peer_name(const std::optional<std::string>& name) {
    if (is_ending() || authenticating_ == nullptr) return;
    if (!name || !is_known_as(*name)) {
        server_.doorkeeper().note_refused(door_.name, login_->request().user, peer_,
                                          "the client runs as " + name.value_or("nobody known"));
        refuse_method("Peer");
        return;
    }
    begin_login();
    pump();
}

bool FrontendConnection::is_known_as(std::string_view outside_name) const {
    const std::string& user = login_->request().user;
    const UserMapFile* map = door_.rules.map;
    return map == nullptr ? outside_name == user : map->map().allows(outside_name, user);
}

// The handshake has refused a certificate that nobody vouches for; what it shows here is true.
void FrontendConnection::judge_certificate() {
    const std::string& user = login_->request().user;
    if (!link_.is_tls()) {
        refuse_plain();
        return;
    }
    const TlsPeer shown = link_.tls()->peer();
    if (!shown.is_verified) {
        server_.doorkeeper().note_refused(door_.name, user, peer_, "no certificate was shown");
        on_login_failed(sqlstate::kInvalidAuthorizationSpecification,
                        "connection requires a valid client certificate");
        return;
    }
    if (!is_known_as(shown.common_name)) {
        server_.doorkeeper().note_refused(door_.name, user, peer_,
                                          "the certificate is of " + shown.distinguished_name);
        refuse_method("certificate");
        return;
    }
    begin_login();
}

void FrontendConnection::refuse_method(std::string_view method) {
    std::string& reply = server_.outbox().scratch();
    append_method_failure(reply, method, login_->request().user);
    end_login_with(reply);
}

std::size_t FrontendConnection::feed_authentication(std::string_view view) {
    std::size_t used = 0;
    while (authenticating_ != nullptr && !authenticating_->waits && !is_ending()) {
        std::size_t consumed = 0;
        std::string& reply = server_.outbox().scratch();
        const AuthenticationStep step =
            authenticating_->machine->on_bytes(view.substr(used), consumed, reply);
        used += consumed;
        if (step == AuthenticationStep::prove) wipe_taken(view.substr(0, used));
        take_step(step, reply);
        if (consumed == 0) break;
    }
    if (!is_dead() && view.size() - used > kEarlyInputMax + 1) die();
    return is_dead() ? view.size() : used;
}

void FrontendConnection::take_step(AuthenticationStep step, const std::string& reply) {
    say(reply);
    if (is_dead()) return;
    switch (step) {
        case AuthenticationStep::need_more: return;
        case AuthenticationStep::verifier: ask_verifier(); return;
        case AuthenticationStep::prove: start_proof(); return;
        case AuthenticationStep::accepted: begin_login(); return;
        case AuthenticationStep::refused:
            server_.totals().auth_failures += 1;
            server_.doorkeeper().note_refused(door_.name, login_->request().user, peer_,
                                              "not proved");
            close_soon();
            return;
    }
}

void FrontendConnection::ask_verifier() {
    Authenticating& state = *authenticating_;
    const auto verdict = door_.rules.users->verdict(login_->request().user, id_, state.has_waited);
    state.waits = !verdict;
    if (!verdict) return;
    std::string& reply = server_.outbox().scratch();
    state.machine->on_verifier(verdict->verifier, verdict->is_doomed, reply);
    say(reply);
}

void FrontendConnection::on_verifier_ready() {
    if (is_dead() || authenticating_ == nullptr || !authenticating_->waits) return;
    authenticating_->has_waited = true;
    ask_verifier();
    pump();
}

// A password that was read lies where it was read to, and maybe its end in the shared buffer too.
void FrontendConnection::wipe_taken(std::string_view taken) {
    const std::span<char> shared = server_.read_buffer();
    const auto offset = taken.data() - shared.data();
    const bool is_shared = offset >= 0 && static_cast<std::size_t>(offset) < shared.size();
    if (is_shared) {
        explicit_bzero(shared.data() + offset, taken.size());
        return;
    }
    explicit_bzero(shared.data(), shared.size());
    explicit_bzero(input_.data() + input_at_, taken.size());
}

void FrontendConnection::start_proof() {
    Authenticating& state = *authenticating_;
    LoginRequest request = login_->request();
    if (is_for_console()) server_.consoles().aim_proof(request);
    Database* database = server_.database_for(request.database);
    if (database == nullptr) {
        // Nobody can be asked whether the password is right, so nothing else is told either.
        server_.doorkeeper().note_refused(door_.name, request.user, peer_,
                                          "no entry of `databases` serves the database");
        std::string& reply = server_.outbox().scratch();
        append_password_failure(reply, request.user);
        end_login_with(reply);
        return;
    }
    state.waits = true;
    database->proving().ask(id_, request, state.machine->password(), door_.rules.cache_lifetime);
}

void FrontendConnection::on_proved(ConnectedBackend proof) {
    authenticating_->proof = std::make_unique<ConnectedBackend>(std::move(proof));
    begin_login();
    pump();
}

void FrontendConnection::on_not_proved(const ConnectFailure& failure) {
    server_.doorkeeper().note_refused(door_.name, login_->request().user, peer_, failure.message);
    // That there is no such database, or that it is not for this user, is found once the password was right.
    const std::string_view of_class = sqlstate::sqlstate_class(failure.sqlstate);
    is_authenticated_ = failure.from_server && (of_class == "3D" || of_class == "42");
    on_login_failed(failure.sqlstate.empty() ? sqlstate::kConnectionFailure
                                             : std::string_view(failure.sqlstate),
                    failure.message, failure.detail, failure.hint);
}

bool FrontendConnection::awaits_proof() const {
    return !is_ending() && authenticating_ != nullptr && authenticating_->waits;
}

}  // namespace pgb

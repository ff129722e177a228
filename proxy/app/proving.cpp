#include "proxy/app/proving.h"

#include <algorithm>
#include <utility>

#include "protocol/sqlstate.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"

namespace pgb {

Proving::Proving(Server& server, Database& database) : server_(server), database_(database) {}

void Proving::ask(std::uint64_t login, const LoginRequest& request, const Secret& password,
                  Duration lifetime) {
    ConnectRequest connect = database_.proof_request(request);
    connect.password = password;
    queue_.push_back({login, request.user, std::move(connect), lifetime});
    // The end of the turn begins it.
    server_.loop().again();
}

FrontendConnection* Proving::waiting(const Proof& proof) const {
    FrontendConnection* frontend = server_.find_frontend(proof.login);
    return frontend != nullptr && frontend->awaits_proof() ? frontend : nullptr;
}

void Proving::tick(Instant now) {
    if (now >= next_expiry_) forget_expired(now);
    while (!queue_.empty()) {
        if (waiting(queue_.front()) != nullptr) {
            const std::size_t busy = database_.pool().opening_count() + under_way_.size();
            if (busy >= database_.entry().max_connecting) return;
            start(std::move(queue_.front()));
        }
        queue_.pop_front();
    }
}

void Proving::start(Proof proof) {
    proof.request.id = server_.new_connect(*this);
    // The connector gets the only other copy of the password, and wipes it.
    server_.connector().connect(proof.request);
    under_way_.emplace(proof.request.id, std::move(proof));
    database_.pool().set_other_connects(static_cast<std::uint32_t>(under_way_.size()));
}

std::optional<Proving::Proof> Proving::take(std::uint64_t connect) {
    const auto found = under_way_.find(connect);
    if (found == under_way_.end()) return std::nullopt;
    Proof proof = std::move(found->second);
    under_way_.erase(found);
    database_.pool().set_other_connects(static_cast<std::uint32_t>(under_way_.size()));
    return proof;
}

void Proving::on_connected(std::uint64_t connect, ConnectedBackend connected) {
    const std::optional<Proof> proof = take(connect);
    if (!proof) return;
    FrontendConnection* frontend = waiting(*proof);
    if (!connected.used_password) {
        // It lets this machine in whatever the password is.
        ConnectFailure failure;
        failure.sqlstate = sqlstate::kInvalidAuthorizationSpecification;
        failure.message = "passthrough authentication failed for user \"" + proof->user + '"';
        failure.detail = "PostgreSQL did not ask for the password, so that nothing is proved.";
        if (frontend != nullptr) frontend->on_not_proved(failure);
        return;
    }
    if (database_.opens_as_client()) keep(*proof);
    if (frontend != nullptr) frontend->on_proved(std::move(connected));
}

void Proving::on_connect_failed(std::uint64_t connect, const ConnectFailure& failure) {
    const std::optional<Proof> proof = take(connect);
    if (!proof) return;
    // Another login with another password proves nothing about the one that is kept, but a password
    // that was right and no longer is comes here first.
    const auto kept = kept_.find(proof->user);
    const bool is_kept = kept != kept_.end() && is_same_secret(kept->second.password.view(),
                                                               proof->request.password.text());
    if (is_kept && failure.from_server && sqlstate::sqlstate_class(failure.sqlstate) == "28") {
        kept_.erase(kept);
    }
    if (FrontendConnection* frontend = waiting(*proof)) frontend->on_not_proved(failure);
}

void Proving::keep(const Proof& proof) {
    if (kept_.size() >= kKeptMax && !kept_.contains(proof.user)) {
        const auto oldest =
            std::min_element(kept_.begin(), kept_.end(), [](const auto& one, const auto& other) {
                return one.second.proved_at < other.second.proved_at;
            });
        kept_.erase(oldest);
    }
    const Instant now = server_.now();
    kept_.insert_or_assign(proof.user,
                           Kept{SecretMemory(proof.request.password.text()), proof.lifetime, now});
    next_expiry_ = std::min(next_expiry_, now + proof.lifetime);
}

void Proving::forget_expired(Instant now) {
    next_expiry_ = Instant::never();
    for (auto at = kept_.begin(); at != kept_.end();) {
        const Instant expiry = at->second.proved_at + at->second.lifetime;
        if (expiry <= now) {
            at = kept_.erase(at);
        } else {
            next_expiry_ = std::min(next_expiry_, expiry);
            ++at;
        }
    }
}

Secret Proving::password_of(const std::string& user) const {
    const auto found = kept_.find(user);
    return found == kept_.end() ? Secret() : Secret(found->second.password.view());
}

void Proving::note_opened(const std::string& user) {
    const auto found = kept_.find(user);
    if (found != kept_.end()) found->second.proved_at = server_.now();
}

void Proving::note_refused(const std::string& user) {
    const auto found = kept_.find(user);
    if (found == kept_.end()) return;
    // One that was proved while this connect was under way may be another than it used.
    const Duration age = server_.now() - found->second.proved_at;
    if (age >= database_.entry().connect_timeout) kept_.erase(found);
}

}  // namespace pgb

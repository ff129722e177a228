#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "config/model.h"
#include "proxy/base/instant.h"
#include "proxy/base/secret.h"
#include "proxy/io/backend_connector.h"
#include "proxy/io/secret_memory.h"
#include "proxy/session/login.h"

namespace pgb {

class Database;
class FrontendConnection;
class Server;

/// Proves the passwords of clients by logins to PostgreSQL with them, for one entry of `databases`,
/// and keeps those that were right to open these users' backends.
///
///   ask() -> queued --a connect is free, after the pool--> under way --asked for, and right--> proved
///                '-- its client has left                        '--refused, or never asked--> failed
///
/// Every login is proved, also with a password that is kept: only PostgreSQL knows whether it has
/// expired or was changed. At most max_connecting connects, those of the pool included, are under way
/// at once; the pool comes first, as permits wait for it. The connections count in P only when the
/// pool adopts them.
///
/// A password is kept for the door's cache_lifetime from the latest login with it on, a backend's
/// included; then, when PostgreSQL refuses it, or when kKeptMax others came later, it is wiped.
class Proving {
public:
    static constexpr std::size_t kKeptMax = 4096;

    Proving(Server& server, Database& database);

    /// The frontend's on_proved() or on_not_proved() follows, unless it has gone.
    void ask(std::uint64_t login, const LoginRequest& request, const Secret& password,
             Duration lifetime);
    void on_connected(std::uint64_t connect, ConnectedBackend connected);
    void on_connect_failed(std::uint64_t connect, const ConnectFailure& failure);
    /// Begins what may begin, and forgets what is too old.
    void tick(Instant now);
    [[nodiscard]] Instant next_deadline() const { return next_expiry_; }

    /// To open a backend with; empty when none is kept.
    [[nodiscard]] Secret password_of(const std::string& user) const;
    /// A backend was opened with what password_of() had said, or PostgreSQL refused it.
    void note_opened(const std::string& user);
    void note_refused(const std::string& user);

private:
    struct Proof {
        std::uint64_t login = 0;
        std::string user;
        ConnectRequest request;
        Duration lifetime{0};
    };
    struct Kept {
        SecretMemory password;
        Duration lifetime{0};
        Instant proved_at;
    };

    void start(Proof proof);
    void keep(const Proof& proof);
    void forget_expired(Instant now);
    std::optional<Proof> take(std::uint64_t connect);
    [[nodiscard]] FrontendConnection* waiting(const Proof& proof) const;

    Server& server_;
    Database& database_;
    std::deque<Proof> queue_;
    std::map<std::uint64_t, Proof> under_way_;  // by the connect's number
    std::unordered_map<std::string, Kept> kept_;
    Instant next_expiry_ = Instant::never();  // not later than that of any that is kept
};

}  // namespace pgb

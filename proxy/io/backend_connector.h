#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "proxy/base/instant.h"
#include "proxy/base/secret.h"
#include "proxy/io/backend_link.h"
#include "proxy/io/loop.h"
#include "proxy/io/socket.h"

namespace pgb {

/// One wish for a backend. `id` is the caller's; it comes back with the answer.
struct ConnectRequest {
    std::uint64_t id = 0;
    /// libpq's connection string or URI. What it does not say comes from the service it names and
    /// the PG* variables, as for every libpq program, with two exceptions: `gssencmode` is always
    /// `disable` (such a link can't be taken over), and `sslmode` is `disable` when neither
    /// the string nor a service nor PGSSLMODE gives one: libpq's own default `prefer` falls back to
    /// an open connection without a word. `prefer` and `allow` are honoured when the string or
    /// PGSSLMODE says so.
    std::string conninfo;
    /// Empty: as the connection string says.
    std::string database;
    std::string user;
    /// Empty: as the connection string, the environment and .pgpass say.
    Secret password = {};
    /// The startup packet's other parameters. `application_name` and `client_encoding` travel under
    /// their own names, `options` as it stands, every other one behind it as `-c name=value`.
    ParameterList startup_parameters;
    /// For the whole of it: name resolution, all hosts, login.
    Duration timeout{0};
    /// Keepalive of a TCP connection, where the connection string does not say it.
    TcpOptions tcp = {};
};

struct ConnectedBackend {
    std::uint64_t id = 0;
    BackendLink link;
    std::string server_version;
    /// The ParameterStatus values after login, in the order in which PostgreSQL documents them.
    ParameterList parameters;
    /// PostgreSQL asked for the password, so it was right.
    bool used_password = false;
};

struct ConnectFailure {
    std::uint64_t id = 0;
    /// The SQLSTATE of the server's ErrorResponse; empty when none was received, but 28P01 when the
    /// server asked for a password and we have none, and 42704 for a startup parameter whose name
    /// can't be one.
    std::string sqlstate;
    /// The server itself refused, in its own words; otherwise `message` is ours or libpq's.
    bool from_server = false;
    bool timed_out = false;
    /// One line, without secrets.
    std::string message;
    std::string detail;
    std::string hint;
};

struct ConnectorCallbacks {
    std::function<void(ConnectedBackend)> on_connected;
    std::function<void(ConnectFailure)> on_failed;
};

/// Opens backends with libpq on a thread and a loop of its own: a login costs 5 to 12 ms of
/// processor time inside libpq (SCRAM, TLS), which the traffic must not wait for.
///
/// Each connect() gets exactly one callback on the main loop, in the phase of the events, unless it
/// was abandoned or the connector has gone. Fairness and limits are the caller's: everything asked
/// for runs at once.
class BackendConnector {
public:
    BackendConnector(Loop& main, ConnectorCallbacks callbacks);
    /// Gives up what is under way and joins the thread; bounded by the libpq call that is running
    /// plus a second for a name resolution that hangs.
    ~BackendConnector();
    BackendConnector(const BackendConnector&) = delete;
    BackendConnector& operator=(const BackendConnector&) = delete;

    void connect(ConnectRequest request);
    /// No callback will come for `id`; a backend that was being opened is closed.
    void abandon(std::uint64_t id);

    /// Asked for and neither answered nor abandoned.
    [[nodiscard]] std::size_t pending_count() const;

    struct State;

private:
    std::unique_ptr<State> state_;
};

}  // namespace pgb

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proxy/base/instant.h"
#include "proxy/base/result.h"

namespace pgb {

/// Connections of clients that are open now, alike in these.
struct ConnectionUse {
    std::string role;
    std::string database;
    std::string application_name;
    std::uint64_t count = 0;
};

/// A role or a database that may have only so many connections.
struct ConnectionLimit {
    std::string name;
    std::uint64_t most = 0;
};

/// What a PostgreSQL server (13 and later) says of connections.
struct ServerAnswers {
    std::string version;
    std::uint64_t max_connections = 0;
    std::uint64_t superuser_reserved = 0;  ///< superuser_reserved_connections
    std::uint64_t reserved = 0;            ///< reserved_connections, from PostgreSQL 16 on
    std::string identity;                  ///< The same for one server, however it was reached.
    bool sees_all = false;                 ///< Who asked may see other roles' sessions whole.
    std::vector<ConnectionUse> use;        ///< Without the one that asked; the most first.
    /// Those that have a limit and can log in; superusers have none.
    std::vector<ConnectionLimit> roles;
    std::vector<ConnectionLimit> databases;
};

/// Asks PostgreSQL and waits for the answers: for commands, never on a loop. The connection is made as
/// a backend's (plan_connect), with application_name `pgbulkhead plan`; `database`, where the string
/// names none. `timeout`: for each host to let us in, and again for each answer. The error is one
/// line without secrets.
[[nodiscard]] Result<ServerAnswers> ask_server(const std::string& conninfo,
                                               const std::string& database, Duration timeout);

/// Where the connection string leads, as `host:port`, several separated by commas; Unix sockets by
/// their directory. As libpq reads it: with services and PG* variables. Touches no network.
[[nodiscard]] Result<std::string> server_place(const std::string& conninfo);

}  // namespace pgb

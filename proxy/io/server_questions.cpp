#include "proxy/io/server_questions.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "proxy/io/clock.h"
#include "proxy/io/connect_plan.h"
#include "proxy/io/conninfo.h"

namespace pgb {

namespace {

constexpr const char* kApplicationName = "pgbulkhead plan";

// The start of the postmaster and its port tell servers apart, and nobody needs a right to ask.
constexpr const char* kNumbers =
    "select current_setting('max_connections'),"
    " current_setting('superuser_reserved_connections'),"
    " coalesce(current_setting('reserved_connections', true), '0'),"
    " split_part(current_setting('server_version'), ' ', 1),"
    " extract(epoch from pg_postmaster_start_time())::text || ' ' || current_setting('port'),"
    " pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')";
// Of sessions that it may not see whole the server hides the type; what has a role and a database
// is then taken for a client. Walsenders have max_wal_senders.
constexpr const char* kUse =
    "select usename, datname, application_name, count(*) from pg_stat_activity"
    " where pid <> pg_backend_pid() and (backend_type = 'client backend'"
    " or (backend_type is null and usesysid is not null and datid is not null))"
    " group by 1, 2, 3 order by 4 desc, 1, 2, 3";
constexpr const char* kRoles =
    "select rolname, rolconnlimit from pg_roles"
    " where rolcanlogin and not rolsuper and rolconnlimit >= 0 order by 1";
constexpr const char* kDatabases =
    "select datname, datconnlimit from pg_database"
    " where datallowconn and datconnlimit >= 0 order by 1";

struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Connection = std::unique_ptr<PGconn, Finish>;
struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, Clear>;

Error one_line(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    // A tab begins libpq's advice about the line before.
    std::erase(text, '\t');
    std::replace(text.begin(), text.end(), '\n', ' ');
    return {text.empty() ? "no reason was given" : std::move(text)};
}

Result<ConnectOptions> options_of(const std::string& conninfo, const std::string& database) {
    ConnectRequest request;
    request.conninfo = conninfo;
    if (conninfo_value(conninfo, "dbname").empty()) request.database = database;
    request.startup_parameters = {{"application_name", kApplicationName}};
    auto planned = plan_connect(request);
    if (!planned) return Error{planned.error().message};
    return std::move(planned.value());
}

Result<Connection> open(ConnectOptions options, Duration timeout) {
    options.set("connect_timeout",
                std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout).count()));
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : options.all()) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    Connection connection(PQconnectdbParams(keywords.data(), values.data(), 0));
    options.wipe_password();
    if (PQstatus(connection.get()) == CONNECTION_OK) return connection;
    return one_line(PQerrorMessage(connection.get()));
}

/// Whether there is something to read before `deadline`.
bool readable(const PGconn* connection, Instant deadline) {
    const Duration left = deadline - monotonic_now();
    if (left <= Duration::zero()) return false;
    pollfd watched{PQsocket(connection), POLLIN, 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return poll(&watched, 1, static_cast<int>(ms)) == 1;
}

Result<Answer> ask(PGconn* connection, const char* sql, Duration timeout) {
    if (PQsendQuery(connection, sql) == 0) return one_line(PQerrorMessage(connection));
    const Instant deadline = monotonic_now() + timeout;
    while (PQisBusy(connection) != 0) {
        if (!readable(connection, deadline)) return Error{"the server did not answer in time"};
        if (PQconsumeInput(connection) == 0) return one_line(PQerrorMessage(connection));
    }
    Answer answer(PQgetResult(connection));
    // One question has one answer; what follows it only says so.
    while (PGresult* more = PQgetResult(connection)) PQclear(more);
    if (PQresultStatus(answer.get()) == PGRES_TUPLES_OK) return answer;
    return one_line(PQresultErrorMessage(answer.get()));
}

std::string text(const Answer& answer, int row, int column) {
    return PQgetvalue(answer.get(), row, column);
}

std::uint64_t number(const Answer& answer, int row, int column) {
    const std::string word = text(answer, row, column);
    std::uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
}

void read_numbers(const Answer& answer, ServerAnswers& out) {
    if (PQntuples(answer.get()) != 1) return;
    out.max_connections = number(answer, 0, 0);
    out.superuser_reserved = number(answer, 0, 1);
    out.reserved = number(answer, 0, 2);
    out.version = text(answer, 0, 3);
    out.identity = text(answer, 0, 4);
    out.sees_all = text(answer, 0, 5) == "t";
}

void read_use(const Answer& answer, ServerAnswers& out) {
    for (int row = 0; row < PQntuples(answer.get()); ++row) {
        out.use.push_back({text(answer, row, 0), text(answer, row, 1), text(answer, row, 2),
                           number(answer, row, 3)});
    }
}

void read_limits(const Answer& answer, std::vector<ConnectionLimit>& out) {
    for (int row = 0; row < PQntuples(answer.get()); ++row) {
        out.push_back({text(answer, row, 0), number(answer, row, 1)});
    }
}

std::string place_of(const ConnectHost& host) {
    const std::string& name = host.host.empty() ? host.hostaddr : host.host;
    // IPv6 as in the file.
    const bool is_bracketed = name.find(':') != std::string::npos;
    return (name.empty()   ? "the default socket"
            : is_bracketed ? "[" + name + "]"
                           : name) +
           ":" + (host.port.empty() ? "5432" : host.port);
}

}  // namespace

Result<ServerAnswers> ask_server(const std::string& conninfo, const std::string& database,
                                 Duration timeout) {
    auto options = options_of(conninfo, database);
    if (!options) return options.error();
    auto connection = open(std::move(options.value()), timeout);
    if (!connection) return connection.error();
    ServerAnswers answers;
    PGconn* const link = connection.value().get();
    const auto put = [&](const char* question, const auto& read) -> std::optional<Error> {
        const auto answer = ask(link, question, timeout);
        if (!answer) return answer.error();
        read(answer.value(), answers);
        return std::nullopt;
    };
    const auto read_roles = [](const Answer& answer, ServerAnswers& out) {
        read_limits(answer, out.roles);
    };
    const auto read_databases = [](const Answer& answer, ServerAnswers& out) {
        read_limits(answer, out.databases);
    };
    if (auto error = put(kNumbers, read_numbers)) return *error;
    if (auto error = put(kUse, read_use)) return *error;
    if (auto error = put(kRoles, read_roles)) return *error;
    if (auto error = put(kDatabases, read_databases)) return *error;
    return answers;
}

Result<std::string> server_place(const std::string& conninfo) {
    const auto options = options_of(conninfo, "");
    if (!options) return options.error();
    std::string places;
    for (const ConnectHost& host : hosts_of(options.value())) {
        if (!places.empty()) places += ',';
        places += place_of(host);
    }
    return places;
}

}  // namespace pgb

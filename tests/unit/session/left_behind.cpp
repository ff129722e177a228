#include "tests/unit/session/left_behind.h"

#include "tests/support/catch.h"

namespace pgb::test {

namespace {

// A setting that a text has put back to its own default is still "of the session", but the same
// as before; only values that differ from what a fresh session sees count.
constexpr const char* kLook =
    "select concat_ws(', ',"
    " (select 'settings: ' || string_agg(name, ' ' order by name) from pg_settings"
    "   where source = 'session' and setting is distinct from reset_val),"
    " (select 'own settings: ' || string_agg(name, ' ') from pg_settings where name like '%.%'"
    "   and source = 'session'),"
    " (select 'prepared: ' || string_agg(name, ' ') from pg_prepared_statements),"
    " (select 'channels: ' || string_agg(c, ' ') from pg_listening_channels() c),"
    " (select 'locks: ' || count(*) from pg_locks"
    "   where locktype = 'advisory' and pid = pg_backend_pid() having count(*) > 0),"
    " (select 'temporary: ' || string_agg(relname, ' ') from pg_class"
    "   where relnamespace = pg_my_temp_schema() and pg_my_temp_schema() <> 0),"
    " (select 'temporary functions: ' || string_agg(proname, ' ') from pg_proc"
    "   where pronamespace = pg_my_temp_schema() and pg_my_temp_schema() <> 0),"
    " (select 'cursors: ' || string_agg(name, ' ') from pg_cursors where is_holdable),"
    " (select 'role: ' || current_user where current_user <> 'postgres'),"
    " (select 'session user: ' || session_user where session_user <> 'postgres'))";

}  // namespace

LeftBehind::LeftBehind(const std::string& conninfo)
    : connection_(PQconnectdb((conninfo + " user=postgres dbname=postgres").c_str())) {
    REQUIRE(PQstatus(connection_.get()) == CONNECTION_OK);
}

void LeftBehind::run(const std::string& text) { PQclear(PQexec(connection_.get(), text.c_str())); }

std::string LeftBehind::value(const std::string& sql) {
    PGresult* result = PQexec(connection_.get(), sql.c_str());
    std::string found = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0
                            ? PQgetvalue(result, 0, 0)
                            : PQresultErrorMessage(result);
    PQclear(result);
    return found;
}

std::string LeftBehind::after(const std::string& text) {
    run(text);
    if (PQtransactionStatus(connection_.get()) != PQTRANS_IDLE) run("COMMIT");
    std::string found = value(kLook);
    run("DISCARD ALL");
    REQUIRE(value(kLook).empty());
    return found;
}

}  // namespace pgb::test

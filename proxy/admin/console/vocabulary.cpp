// What the console's tables are called and made of, what drivers ask unasked, and the words of HELP.

#include <array>

#include "proxy/admin/console/command.h"

namespace pgb {

namespace {

constexpr ColumnType kText = ColumnType::text;
constexpr ColumnType kInt = ColumnType::int8;
constexpr ColumnType kFloat = ColumnType::float8;

// Of a terminal's line: names of a usual length stay below 200 columns.
constexpr std::array kWorkloadColumns = {
    Column{"workload", kText},      Column{"mode", kText},        Column{"running", kInt},
    Column{"limit", kInt},          Column{"waiting", kInt},      Column{"queue", kInt},
    Column{"queue_wait_s", kFloat}, Column{"parked", kInt},       Column{"peak", kInt},
    Column{"admitted", kInt},       Column{"refused", kInt},      Column{"queue_full", kInt},
    Column{"queue_timeout", kInt},  Column{"would_refuse", kInt}, Column{"pinned", kInt},
    Column{"orphaned", kInt}};
constexpr std::array kHolderColumns = {
    Column{"workload", kText},  Column{"state", kText},    Column{"age_s", kFloat},
    Column{"state_s", kFloat},  Column{"pid", kInt},       Column{"client", kText},
    Column{"user", kText},      Column{"database", kText}, Column{"application", kText},
    Column{"waits_for", kText}, Column{"statement", kText}};
constexpr std::array kWaiterColumns = {Column{"workload", kText},  Column{"id", kInt},
                                       Column{"waits_for", kText}, Column{"waited_s", kFloat},
                                       Column{"client", kText},    Column{"user", kText},
                                       Column{"database", kText},  Column{"application", kText}};
constexpr std::array kPoolColumns = {
    Column{"database", kText},  Column{"state", kText},   Column{"size", kInt},
    Column{"lent", kInt},       Column{"idle", kInt},     Column{"pinned", kInt},
    Column{"connecting", kInt}, Column{"closing", kInt},  Column{"orphaned", kInt},
    Column{"waiting", kInt},    Column{"connects", kInt}, Column{"failures", kInt},
    Column{"swaps", kInt}};
constexpr std::array kBackendColumns = {Column{"database", kText}, Column{"pid", kInt},
                                        Column{"state", kText},    Column{"user", kText},
                                        Column{"dbname", kText},   Column{"client_id", kInt}};
constexpr std::array kClientColumns = {Column{"id", kInt},        Column{"state", kText},
                                       Column{"client", kText},   Column{"user", kText},
                                       Column{"database", kText}, Column{"application", kText},
                                       Column{"workload", kText}, Column{"pid", kInt},
                                       Column{"age_s", kFloat},   Column{"listener", kText}};
constexpr std::array kPinColumns = {Column{"id", kInt},        Column{"kind", kText},
                                    Column{"pid", kInt},       Column{"workload", kText},
                                    Column{"client", kText},   Column{"user", kText},
                                    Column{"database", kText}, Column{"application", kText}};
constexpr std::array kStatColumns = {Column{"name", kText}, Column{"value", kInt}};
constexpr std::array kConfigColumns = {Column{"key", kText}, Column{"value", kText},
                                       Column{"in_the_file", kText}, Column{"change", kText}};
constexpr std::array kVersionColumns = {Column{"version", kText}};
constexpr std::array kHelpColumns = {Column{"command", kText}, Column{"meaning", kText}};

constexpr std::array<ConsoleHelp, 19> kHelp = {{
    {"SHOW WORKLOADS", "budgets, who runs and waits, who was refused"},
    {"SHOW HOLDERS", "who holds the permits, since when, with which statement; the oldest first"},
    {"SHOW WAITERS", "who waits for a permit or a backend; the oldest first"},
    {"SHOW POOLS", "backends of each entry of databases, by state"},
    {"SHOW BACKENDS", "connections to PostgreSQL"},
    {"SHOW CLIENTS", "connections of clients; id is for KILL and CANCEL"},
    {"SHOW PINS", "sessions that keep their backend between transactions"},
    {"SHOW STATS", "what this process has counted"},
    {"SHOW CONFIG", "what is in force, and where the file says otherwise"},
    {"SHOW VERSION", "of this program"},
    {"SHOW HELP", "this"},
    {"SET WORKLOAD name concurrency = 8, queue = 16, queue_wait = '1s', mode = shadow",
     "at once and until the file is loaded again; one value or several"},
    {"PAUSE [database]", "lend no more backends, wait until all have come back, close them"},
    {"RESUME [database]", "the end of PAUSE"},
    {"RELOAD", "load the file again; what was SET is over"},
    {"DRAIN", "no new work, finish what runs, end the program"},
    {"KILL id", "end a client's session; its work is rolled back"},
    {"CANCEL id", "cancel what a client runs or waits for"},
    {"BEGIN, COMMIT, SET, RESET, SELECT 1 ...", "what drivers send unasked; without an effect"},
}};

/// As PostgreSQL answers who asks for what drivers look at.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kSettings = {{
    {"server_version", "15.0"},
    {"server_version_num", "150000"},
    {"server_encoding", "UTF8"},
    {"client_encoding", "UTF8"},
    {"datestyle", "ISO, MDY"},
    {"intervalstyle", "postgres"},
    {"timezone", "UTC"},
    {"time_zone", "UTC"},
    {"integer_datetimes", "on"},
    {"standard_conforming_strings", "on"},
    {"transaction_read_only", "off"},
    {"default_transaction_read_only", "off"},
    {"transaction_isolation", "read committed"},
    {"transaction_isolation_level", "read committed"},
    {"default_transaction_isolation", "read committed"},
    {"in_hot_standby", "off"},
    {"is_superuser", "off"},
    {"search_path", "public"},
    {"max_identifier_length", "63"},
}};

}  // namespace

Columns columns_of(ConsoleView view) {
    switch (view) {
        case ConsoleView::workloads: return kWorkloadColumns;
        case ConsoleView::holders: return kHolderColumns;
        case ConsoleView::waiters: return kWaiterColumns;
        case ConsoleView::pools: return kPoolColumns;
        case ConsoleView::backends: return kBackendColumns;
        case ConsoleView::clients: return kClientColumns;
        case ConsoleView::pins: return kPinColumns;
        case ConsoleView::stats: return kStatColumns;
        case ConsoleView::config: return kConfigColumns;
        case ConsoleView::version: return kVersionColumns;
        case ConsoleView::help: return kHelpColumns;
    }
    return {};
}

std::optional<std::string> setting_value(std::string_view name) {
    for (const auto& [setting, value] : kSettings) {
        if (setting == name) return std::string(value);
    }
    return std::nullopt;
}

std::optional<std::pair<Column, Cell>> selected_value(std::string_view expression) {
    using Found = std::pair<Column, Cell>;
    if (expression == "1") return Found{{"?column?", kInt}, std::int64_t{1}};
    if (expression == "version()") return Found{{"version", kText}, std::string("pgbulkhead")};
    if (expression == "pg_is_in_recovery()") {
        return Found{{"pg_is_in_recovery", kText}, std::string("f")};
    }
    // Of a pool's cleaning.
    if (expression == "pg_advisory_unlock_all()") {
        return Found{{"pg_advisory_unlock_all", kText}, std::string()};
    }
    if (expression == "current_schema()") {
        return Found{{"current_schema", kText}, std::string("public")};
    }
    return std::nullopt;
}

std::span<const ConsoleHelp> console_help() { return kHelp; }

}  // namespace pgb

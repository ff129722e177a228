#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace pgb::config {

/// Exit codes of the program, the same for every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // something went wrong while running
inline constexpr int kExitBadUsage = 2;  // wrong command line or wrong configuration

enum class Command : std::uint8_t { run, check, explain, plan, top, healthcheck };

/// What `explain` is asked about. What is left out is as a client leaves it out.
struct ExplainOptions {
    std::optional<std::string> database;  // none: as the user
    std::string user;
    std::string application_name;
    std::optional<std::string> listener;  // none: the first of the file
    std::optional<std::string> client;    // none: 127.0.0.1, or nobody's for a Unix socket
    std::string query;
    std::string workload;  // the value of pgbulkhead.workload
    bool operator==(const ExplainOptions&) const = default;
};

/// How `plan` calculates and tells.
struct PlanOptions {
    bool json = false;
    bool offline = false;  // asks no server
    bool operator==(const PlanOptions&) const = default;
};

/// Whom `top` looks at.
struct TopOptions {
    std::string admin = "http://127.0.0.1:9432";
    std::string authorities;  // a PEM file; empty: those of the system
    bool once = false;
    bool operator==(const TopOptions&) const = default;
};

/// What `healthcheck` asks, and whom.
struct HealthOptions {
    std::optional<std::string> url;  // none: what the file says
    std::string authorities;         // a PEM file; empty: those of the system
    bool ready = false;              // /readyz instead of /healthz
    bool operator==(const HealthOptions&) const = default;
};

struct Options {
    Command command = Command::run;
    std::optional<std::string> file;  // -c FILE; none: the embedded default serves
    bool list_keys = false;           // check --keys
    ExplainOptions explain = {};
    PlanOptions plan = {};
    TopOptions top = {};
    HealthOptions health = {};
    bool allow_dumps = false;  // run --allow-dumps
    bool operator==(const Options&) const = default;
};

/// The command line asked for a text (help, version) or was wrong: print it and leave. Text of exit
/// code 0 belongs on standard output, any other on standard error.
struct Leave {
    std::string text;
    int exit_code = kExitOk;
};

/// Never throws and never exits. `version` is what --version prints after the program's name.
[[nodiscard]] std::variant<Options, Leave> parse_options(int argc, const char* const* argv,
                                                         const std::string& version);

}  // namespace pgb::config

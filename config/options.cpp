#include "config/options.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace pgb::config {

std::variant<Options, Leave> parse_options(int argc, const char* const* argv,
                                           const std::string& version) {
    Options options;
    std::string file;
    CLI::App app("An admission proxy for PostgreSQL: each workload has its own concurrency budget.",
                 "pgbulkhead");
    app.set_version_flag("--version", "pgbulkhead " + version);
    app.require_subcommand(1);
    app.footer(
        "Exit codes: 0 fine, 1 failed while running, 2 wrong command line or configuration.");

    CLI::App* run = app.add_subcommand("run", "Serve clients until SIGTERM or SIGINT.");
    CLI::App* check = app.add_subcommand(
        "check", "Print the effective configuration, or all that is wrong with the file.");
    for (CLI::App* command : {run, check}) {
        command->add_option("-c,--config", file, "The budgets file; none: built-in budgets serve.")
            ->type_name("FILE");
    }
    check->add_flag("--keys", options.list_keys, "Print a table of all keys instead.");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        const int code = app.exit(error, out, err);
        return Leave{out.str() + err.str(), code == 0 ? kExitOk : kExitBadUsage};
    }
    if (check->parsed()) options.command = Command::check;
    for (CLI::App* command : {run, check}) {
        if (command->count("--config") > 0) options.file = file;
    }
    return options;
}

}  // namespace pgb::config

#include "config/options.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace pgb::config {

namespace {

void add_explain_options(CLI::App& command, ExplainOptions& asked) {
    command.add_option("--database", asked.database, "As the client names it; none: the user's.")
        ->type_name("NAME");
    command.add_option("--user", asked.user, "Who logs in.")->type_name("NAME");
    command.add_option("--application-name", asked.application_name, "As it was last set.")
        ->type_name("TEXT");
    command.add_option("--listener", asked.listener, "The door it comes through; none: the first.")
        ->type_name("NAME");
    command.add_option("--client", asked.client, "Its address; none: 127.0.0.1.")
        ->type_name("ADDRESS");
    command.add_option("--query", asked.query, "The transaction's first statement.")
        ->type_name("TEXT");
    command.add_option("--workload", asked.workload, "What pgbulkhead.workload is set to.")
        ->type_name("NAME");
}

void add_plan_options(CLI::App& command, PlanOptions& asked) {
    command.add_flag("--json", asked.json, "The same as JSON.");
    command.add_flag("--offline", asked.offline, "Ask no server: by the file alone.");
}

void add_top_options(CLI::App& command, TopOptions& asked) {
    command.add_option("--admin", asked.admin, "The proxy's admin.http; none: its default.")
        ->type_name("URL");
    command
        .add_option("--ca", asked.authorities,
                    "For https: a PEM file with authorities that this system does not know.")
        ->type_name("FILE");
    command.add_flag("--once", asked.once, "Print it once instead of each second.");
}

void add_health_options(CLI::App& command, HealthOptions& asked) {
    command
        .add_option("--url", asked.url, "Its admin.probes or admin.http; none: as the file has it.")
        ->type_name("URL")
        ->excludes("--config");
    command
        .add_option(
            "--ca", asked.authorities,
            "For an https --url: a PEM file with authorities that this system does not know.")
        ->type_name("FILE")
        ->needs("--url");
    command.add_flag("--ready", asked.ready, "Ask whether it takes clients, not whether it lives.");
}

}  // namespace

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
    CLI::App* explain = app.add_subcommand(
        "explain", "Say which workload a transaction belongs to, and why no earlier one.");
    add_explain_options(*explain, options.explain);
    CLI::App* plan = app.add_subcommand(
        "plan", "Compare the connections that all instances may open with what PostgreSQL takes.");
    add_plan_options(*plan, options.plan);
    CLI::App* top = app.add_subcommand(
        "top", "Show a running proxy's workloads, who holds permits, and what happened.");
    add_top_options(*top, options.top);
    CLI::App* health =
        app.add_subcommand("healthcheck", "Ask a running proxy whether it lives: 0 yes, 1 no.");
    for (CLI::App* command : {run, check, explain, plan, health}) {
        command->add_option("-c,--config", file, "The budgets file; none: built-in budgets serve.")
            ->type_name("FILE");
    }
    add_health_options(*health, options.health);
    run->add_flag(
        "--allow-dumps", options.allow_dumps,
        "Allow core dumps, debuggers and profilers of the same user: they see passwords.");
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
    if (explain->parsed()) options.command = Command::explain;
    if (plan->parsed()) options.command = Command::plan;
    if (top->parsed()) options.command = Command::top;
    if (health->parsed()) options.command = Command::healthcheck;
    for (CLI::App* command : {run, check, explain, plan, health}) {
        if (command->count("--config") > 0) options.file = file;
    }
    return options;
}

}  // namespace pgb::config

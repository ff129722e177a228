// pgb_load: N clients in a closed or open loop against one PostgreSQL, pooler or proxy. See README.md.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/load/run.h"

namespace {

using pgb::load::AfterRefusal;
using pgb::load::RunOptions;

struct Arguments {
    RunOptions run;
    std::string sql = "select 1 + 0";
    std::string protocol = "simple";
    std::string script_file;
    double think_ms = 0;
    double rate = 0;
    double retry_every_ms = 20;
    double reconnect_after_ms = 100;
    double default_retry_after_ms = 100;
    bool json = false;
};

pgb::Duration from_ms(double ms) {
    return std::chrono::duration_cast<pgb::Duration>(std::chrono::duration<double, std::milli>(ms));
}

void add_target_options(CLI::App& app, Arguments& arguments) {
    auto& target = arguments.run.target;
    app.add_option("--host", target.host, "address, or directory of the Unix socket");
    app.add_option("--port", target.port, "port");
    app.add_option("--user", target.user, "user");
    app.add_option("--database", target.database, "database");
    app.add_option("--options", target.options, "startup parameter `options`");
    app.add_option("--application-name", target.application_name, "startup parameter");
}

void add_work_options(CLI::App& app, Arguments& arguments) {
    RunOptions& run = arguments.run;
    app.add_option("--clients", run.clients, "connections, each a closed loop");
    app.add_option("--seconds", run.seconds, "time that counts");
    app.add_option("--warmup", run.warmup_seconds, "seconds before it");
    app.add_option("--ramp", run.ramp_seconds, "seconds over which the logins are spread");
    app.add_option("--sql", arguments.sql, "the statement of each transaction; :rnd(N) is 1..N");
    app.add_option("--protocol", arguments.protocol, "of --sql: simple or extended")
        ->check(CLI::IsMember({"simple", "extended"}));
    app.add_option("--script", arguments.script_file,
                   "a transaction of several steps, from a file");
    app.add_option("--seed", run.seed, "of :rnd");
    const std::map<std::string, AfterRefusal> words = {{"at-once", AfterRefusal::at_once},
                                                       {"obey", AfterRefusal::obey},
                                                       {"own-clock", AfterRefusal::own_clock},
                                                       {"give-up", AfterRefusal::give_up}};
    app.add_option("--after-refusal", run.behaviour.after_refusal,
                   "at-once, obey, own-clock or give-up")
        ->transform(CLI::CheckedTransformer(words));
    app.add_option("--think", arguments.think_ms, "ms between transactions");
    app.add_option("--rate", arguments.rate,
                   "open loop: transactions a second of all clients together, at random moments");
    app.add_option("--retry-every", arguments.retry_every_ms, "ms of --after-refusal own-clock");
    app.add_option("--reconnect-after", arguments.reconnect_after_ms,
                   "ms from a lost or refused connection to the next try");
    app.add_option("--default-retry-after", arguments.default_retry_after_ms,
                   "ms to wait after a refusal that names no time");
}

void add_view_options(CLI::App& app, Arguments& arguments) {
    RunOptions& run = arguments.run;
    app.add_flag("--json", arguments.json, "one line of JSON instead of an indented one");
    app.add_flag("--progress", run.progress, "show the run on standard error while it goes");
    app.add_option("--label", run.label, "name of the run");
    app.add_option("--sample-sql", run.sample_sql, "a statement that gives one number");
    app.add_option("--sample-host", run.sample_target.host, "where to ask it: PostgreSQL itself");
    app.add_option("--sample-port", run.sample_target.port, "port");
    app.add_option("--sample-user", run.sample_target.user, "user");
    app.add_option("--sample-database", run.sample_target.database, "database");
    app.add_option("--sample-every", run.sample_every_ms, "ms between two answers");
}

pgb::Result<pgb::load::Script> read_script(const Arguments& arguments) {
    using pgb::load::StepKind;
    if (arguments.script_file.empty()) {
        const StepKind kind =
            arguments.protocol == "extended" ? StepKind::extended : StepKind::simple;
        return pgb::load::Script{{kind, {arguments.sql}}};
    }
    std::ifstream file(arguments.script_file);
    if (!file) return pgb::Error{"cannot read " + arguments.script_file};
    std::ostringstream text;
    text << file.rdbuf();
    return pgb::load::parse_script(text.str());
}

int run(Arguments& arguments) {
    auto script = read_script(arguments);
    if (!script) {
        std::fprintf(stderr, "pgb_load: %s\n", script.error().message.c_str());
        return 2;
    }
    RunOptions& options = arguments.run;
    options.script = std::move(*script);
    options.behaviour.think = from_ms(arguments.think_ms);
    options.behaviour.retry_every = from_ms(arguments.retry_every_ms);
    if (arguments.rate > 0) {
        options.behaviour.arrive_every =
            from_ms(1000.0 * static_cast<double>(options.clients) / arguments.rate);
    }
    options.behaviour.reconnect_after = from_ms(arguments.reconnect_after_ms);
    options.behaviour.default_retry_after = from_ms(arguments.default_retry_after_ms);
    const auto result = pgb::load::run_load(options);
    if (!result) {
        std::fprintf(stderr, "pgb_load: %s\n", result.error().message.c_str());
        return 1;
    }
    std::printf("%s\n", result->dump(arguments.json ? -1 : 2).c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app("N clients in a closed loop against PostgreSQL or whatever speaks like it.");
    Arguments arguments;
    add_target_options(app, arguments);
    add_work_options(app, arguments);
    add_view_options(app, arguments);
    CLI11_PARSE(app, argc, argv);
    return run(arguments);
} catch (...) {
    // Nothing of ours throws; the libraries for options and JSON might.
    std::fputs("pgb_load: ended by an exception\n", stderr);
    return 1;
}

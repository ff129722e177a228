#include "proxy/cli/run.h"

#include <csignal>
#include <optional>
#include <string_view>
#include <utility>

#include "proxy/app/log_level.h"
#include "proxy/app/reloading.h"
#include "proxy/app/server.h"
#include "proxy/app/version.h"
#include "proxy/cli/load_config.h"
#include "proxy/io/inherited_sockets.h"
#include "proxy/io/limits.h"
#include "proxy/io/service_manager.h"
#include "proxy/io/signals.h"

namespace pgb {

namespace {

/// Tells the service manager that the loop turns, as often as it wants to hear it: from the loop, so
/// that one that hangs falls silent.
class SignsOfLife {
public:
    SignsOfLife(Loop& loop, ServiceManager& manager)
        : loop_(loop), manager_(manager), timer_(loop, [this] { tell(); }) {
        if (manager.alive_interval() > Duration::zero()) tell();
    }

private:
    void tell() {
        manager_.tell_alive();
        timer_.arm(loop_.now() + manager_.alive_interval());
    }

    Loop& loop_;
    ServiceManager& manager_;
    Timer timer_;
};

int serve(const config::Config& config, std::optional<ConfigSource> source,
          const config::EnvLookup& env, Log& log, InheritedSockets& inherited) {
    Loop loop;
    ServiceManager manager;
    Server server(loop, log, config, manager);
    std::optional<Reloading> reloading;
    Signals signals(loop, [&](int signal) {
        if (signal == SIGTERM) server.drain();
        if (signal == SIGINT) server.stop();
        if (signal != SIGHUP) return;
        if (reloading) {
            reloading->reload("SIGHUP");
        } else {
            log.warn("nothing_to_reload", {{"note", "no file was named with -c"}});
        }
    });
    if (Result<bool> started = server.start(inherited); !started) {
        log.error("cannot_start", {{"message", started.error().message}});
        return config::kExitFailed;
    }
    if (source) {
        reloading.emplace(loop, server, log, std::move(*source), env);
        server.on_reload_request(
            [&reloading](std::string_view trigger) { return reloading->reload(trigger); });
    }
    log.info("ready", {{"version", kVersion}});
    manager.tell_ready("serving");
    const SignsOfLife signs(loop, manager);
    loop.run();
    log.info("stopped", {});
    return config::kExitOk;
}

}  // namespace

int run(const config::Options& options, const config::EnvLookup& env, std::ostream& err) {
    // Before the first secret is read.
    if (!options.allow_dumps) forbid_dumps();
    ignore_sigpipe();
    std::optional<ConfigSource> source;
    if (options.file) source = ConfigSource{*options.file, FileState::of(*options.file)};
    const std::optional<config::Config> loaded = load_config(options, env, err);
    if (!loaded) return config::kExitBadUsage;
    Log log(level_of(loaded->log.level),
            loaded->log.format == config::LogFormat::json ? LogFormat::json : LogFormat::logfmt);
    const std::uint64_t files = raise_open_files();
    if (files < loaded->limits.max_clients) {
        log.warn("few_open_files",
                 {{"limit", static_cast<std::int64_t>(files)},
                  {"max_clients", static_cast<std::int64_t>(loaded->limits.max_clients)}});
    }
    Result<InheritedSockets> inherited = InheritedSockets::from_environment();
    if (!inherited) {
        log.error("cannot_start", {{"message", inherited.error().message}});
        return config::kExitFailed;
    }
    return serve(*loaded, std::move(source), env, log, *inherited);
}

}  // namespace pgb

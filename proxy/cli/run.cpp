#include "proxy/cli/run.h"

#include <csignal>

#include "proxy/app/server.h"
#include "proxy/app/version.h"
#include "proxy/cli/load_config.h"
#include "proxy/io/limits.h"
#include "proxy/io/signals.h"

namespace pgb {

namespace {

LogLevel level_of(config::LogLevel level) {
    switch (level) {
        case config::LogLevel::debug: return LogLevel::debug;
        case config::LogLevel::info: return LogLevel::info;
        case config::LogLevel::warn: return LogLevel::warn;
        case config::LogLevel::error: return LogLevel::error;
    }
    return LogLevel::info;
}

int serve(const config::Config& config, Log& log) {
    Loop loop;
    Server server(loop, log, config);
    Signals signals(loop, [&](int signal) {
        if (signal == SIGTERM) server.drain();
        if (signal == SIGINT) server.stop();
    });
    if (Result<bool> started = server.start(); !started) {
        log.error("cannot_start", {{"message", started.error().message}});
        return config::kExitFailed;
    }
    log.info("ready", {{"version", kVersion}});
    loop.run();
    log.info("stopped", {});
    return config::kExitOk;
}

}  // namespace

int run(const config::Options& options, const config::EnvLookup& env, std::ostream& err) {
    ignore_sigpipe();
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
    return serve(*loaded, log);
}

}  // namespace pgb

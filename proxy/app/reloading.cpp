#include "proxy/app/reloading.h"

#include <utility>

#include "proxy/app/log_level.h"
#include "proxy/io/clock.h"

namespace pgb {

Reloading::Reloading(Loop& loop, Server& server, Log& log, ConfigSource source,
                     config::EnvLookup env)
    : server_(server),
      log_(log),
      file_(std::move(source.file)),
      env_(std::move(env)),
      watch_(loop, file_, source.state,
             {.on_change = [this] { reload("file"); },
              .on_trouble =
                  [this](const std::string& folder, const std::string& why) {
                      log_.warn("config_not_watched", {{"folder", folder}, {"message", why}});
                  }}) {}

namespace {

void note_complaints(const config::Complaints& complaints, ReloadReport& report) {
    for (const config::Complaint& complaint : complaints) {
        report.mistakes.push_back({.file = complaint.file,
                                   .line = complaint.line,
                                   .column = complaint.column,
                                   .code = complaint.code,
                                   .text = complaint.text(),
                                   .is_error = complaint.severity == config::Severity::error});
    }
}

void note_changes(const std::vector<config::Change>& changes, ReloadReport& report) {
    for (const config::Change& change : changes) {
        report.changes.push_back({.key = change.path,
                                  .before = change.before,
                                  .after = change.after,
                                  .in_force = change.reload == config::Reload::live});
    }
}

}  // namespace

ReloadReport Reloading::reload(std::string_view trigger) {
    ServiceManager& manager = server_.service_manager();
    manager.tell_reloading();
    ReloadReport report = load_anew(trigger);
    const bool succeeded = report.outcome == ReloadReport::Outcome::done;
    manager.tell_ready(succeeded ? "serving"
                                 : "serving; the file was refused, what was in force before stays");
    return report;
}

ReloadReport Reloading::load_anew(std::string_view trigger) {
    ReloadReport report;
    watch_.note_read();
    config::Loaded loaded = config::load_file(file_, env_);
    log_complaints(loaded.complaints);
    note_complaints(loaded.complaints, report);
    if (!loaded.config) {
        fail("the file has mistakes", trigger, report);
        return report;
    }
    if (!server_.rules().has_room_for(*loaded.config)) {
        fail("too many different workloads since the start", trigger, report);
        return report;
    }
    const std::vector<config::Change> changes = server_.reload(*loaded.config);
    server_.live_changes().forget();
    log_changes(changes, trigger);
    note_changes(changes, report);
    ReloadFigures& figures = server_.reload_figures();
    ++figures.succeeded;
    figures.last_succeeded = true;
    figures.last_success_seconds = unix_seconds();
    server_.chronicle().note_reload(trigger, report, unix_seconds());
    return report;
}

void Reloading::log_complaints(const config::Complaints& complaints) {
    for (const config::Complaint& complaint : complaints) {
        const bool is_error = complaint.severity == config::Severity::error;
        log_.write(is_error ? LogLevel::error : LogLevel::warn,
                   is_error ? "config_mistake" : "config_warning",
                   {{"file", complaint.file},
                    {"line", std::int64_t{complaint.line}},
                    {"column", std::int64_t{complaint.column}},
                    {"message", complaint.text()}});
    }
}

void Reloading::fail(std::string_view why, std::string_view trigger, ReloadReport& report) {
    report.outcome = ReloadReport::Outcome::refused;
    report.message = why;
    ReloadFigures& figures = server_.reload_figures();
    ++figures.failed;
    figures.last_succeeded = false;
    server_.chronicle().note_reload(trigger, report, unix_seconds());
    log_.error("config_reload_failed",
               {{"file", file_}, {"message", why}, {"note", "nothing has changed"}});
}

void Reloading::log_changes(const std::vector<config::Change>& changes, std::string_view trigger) {
    // The change of the level itself is told whichever of the two would tell it.
    const LogLevel level = level_of(server_.config().log.level);
    const bool tells_less = log_.would_write(level);
    if (!tells_less) log_.set_level(level);
    std::int64_t waiting = 0;
    for (const config::Change& change : changes) {
        const bool is_live = change.reload == config::Reload::live;
        waiting += is_live ? 0 : 1;
        log_.write(is_live ? LogLevel::info : LogLevel::warn,
                   is_live ? "config_changed" : "config_restart_needed",
                   {{"key", change.path}, {"before", change.before}, {"after", change.after}});
    }
    server_.reload_figures().restart_needed = static_cast<std::uint32_t>(waiting);
    log_.info("config_reloaded", {{"trigger", trigger},
                                  {"changes", static_cast<std::int64_t>(changes.size())},
                                  {"restart_needed", waiting}});
    if (tells_less) log_.set_level(level);
}

}  // namespace pgb

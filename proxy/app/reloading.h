#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/yaml.h"
#include "proxy/admin/reload_report.h"
#include "proxy/app/server.h"
#include "proxy/base/log.h"
#include "proxy/io/file_watch.h"

namespace pgb {

/// Where the configuration came from, and how it was then.
struct ConfigSource {
    std::string file;
    FileState state;  ///< From before it was read.
};

/// Reads the file anew when it has changed or when somebody says so, and puts it in force: all or
/// nothing. A file with a mistake changes nothing; its complaints are logged, each with its place.
/// Of one without, what is live counts from this turn on, and what is not is said to need a restart.
///
/// The file is read and judged on the loop, between two turns: a budgets file is some kilobytes and
/// takes a millisecond, when a person has edited it. How much is read is bounded (load_file).
class Reloading {
public:
    Reloading(Loop& loop, Server& server, Log& log, ConfigSource source, config::EnvLookup env);

    /// `trigger`: who says so, for the log.
    ReloadReport reload(std::string_view trigger);

private:
    ReloadReport load_anew(std::string_view trigger);
    void log_complaints(const config::Complaints& complaints);
    void fail(std::string_view why, std::string_view trigger, ReloadReport& report);
    void log_changes(const std::vector<config::Change>& changes, std::string_view trigger);

    Server& server_;
    Log& log_;
    std::string file_;
    config::EnvLookup env_;
    FileWatch watch_;
};

}  // namespace pgb

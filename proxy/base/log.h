#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pgb {

enum class LogLevel : std::uint8_t { debug, info, warn, error };
enum class LogFormat : std::uint8_t { logfmt, json };

/// One `key=value` of an event. The value is text already; the log escapes it.
struct LogField {
    std::string_view key;
    std::string value;

    LogField(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
    LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
    LogField(std::string_view k, const char* v) : key(k), value(v) {}
    LogField(std::string_view k, std::int64_t v) : key(k), value(std::to_string(v)) {}
};

/// Renders one event as one line without its time stamp: control characters, bytes that are no UTF-8,
/// quotes and backslashes of values are escaped, so that no client can forge a line, speak to the
/// reader's terminal, or make a line that is no JSON. Pure; used by Log and by its tests.
std::string render_log_line(LogFormat format, std::string_view level, std::string_view event,
                            std::initializer_list<LogField> fields);

/// Where events go. An event is a stable word (`backend_lost`) with fields; no free text that a
/// person would have to parse. Secrets are never given to it.
class Log {
public:
    Log(LogLevel level, LogFormat format);

    void set_level(LogLevel level) { level_ = level; }
    [[nodiscard]] bool would_write(LogLevel level) const { return level >= level_; }
    void write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);

    void debug(std::string_view event, std::initializer_list<LogField> f) {
        write(LogLevel::debug, event, f);
    }
    void info(std::string_view event, std::initializer_list<LogField> f) {
        write(LogLevel::info, event, f);
    }
    void warn(std::string_view event, std::initializer_list<LogField> f) {
        write(LogLevel::warn, event, f);
    }
    void error(std::string_view event, std::initializer_list<LogField> f) {
        write(LogLevel::error, event, f);
    }

private:
    LogLevel level_;
    LogFormat format_;
};

}  // namespace pgb

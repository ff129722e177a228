#include "proxy/base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace pgb {

namespace {

constexpr std::string_view level_word(LogLevel level) {
    switch (level) {
        case LogLevel::debug: return "debug";
        case LogLevel::info: return "info";
        case LogLevel::warn: return "warn";
        case LogLevel::error: return "error";
    }
    return "error";
}

void append_escaped(std::string& out, std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            out += fmt::format("\\u{:04x}", byte);
        } else {
            out += c;
        }
    }
}

bool needs_quotes(std::string_view text) {
    if (text.empty()) return true;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= 0x20 || byte == 0x7f || c == '"' || c == '=' || c == '\\') return true;
    }
    return false;
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    append_escaped(out, text);
    out += '"';
}

// Wall-clock time is for people who read the log; nothing decides by it. spdlog adds it.
std::shared_ptr<spdlog::logger> make_sink() {
    auto sink = spdlog::stderr_logger_st("pgbulkhead");
    sink->set_level(spdlog::level::trace);
    sink->flush_on(spdlog::level::trace);
    return sink;
}

}  // namespace

std::string render_log_line(LogFormat format, std::string_view level, std::string_view event,
                            std::initializer_list<LogField> fields) {
    std::string line;
    if (format == LogFormat::json) {
        line = fmt::format("\"level\":\"{}\",\"event\":", level);
        append_quoted(line, event);
        for (const LogField& field : fields) {
            line += ',';
            append_quoted(line, field.key);
            line += ':';
            append_quoted(line, field.value);
        }
        return line + "}";
    }
    line = fmt::format("level={} event={}", level, event);
    for (const LogField& field : fields) {
        line += ' ';
        line += field.key;
        line += '=';
        if (needs_quotes(field.value)) {
            append_quoted(line, field.value);
        } else {
            line += field.value;
        }
    }
    return line;
}

Log::Log(LogLevel level, LogFormat format) : level_(level), format_(format) {
    auto sink = spdlog::get("pgbulkhead");
    if (sink == nullptr) sink = make_sink();
    sink->set_pattern(format == LogFormat::json ? "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v"
                                                : "time=%Y-%m-%dT%H:%M:%S.%eZ %v",
                      spdlog::pattern_time_type::utc);
}

void Log::write(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
    if (!would_write(level)) return;
    const std::string line = render_log_line(format_, level_word(level), event, fields);
    // "{}" keeps braces in a client's words from being read as a format.
    spdlog::get("pgbulkhead")->info("{}", line);
}

}  // namespace pgb

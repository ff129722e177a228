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

// How many bytes at the front are one character of UTF-8 above 0x7f that is no control (U+0080 to
// U+009F are, and some terminals obey them); 0: none.
std::size_t printable_beyond_ascii(std::string_view text) {
    const auto byte = [text](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
        return byte(i) >= low && byte(i) <= high;
    };
    const unsigned lead = byte(0);
    if (lead == 0xc2) return follows(1, 0xa0) ? 2 : 0;
    if (lead > 0xc2 && lead <= 0xdf) return follows(1) ? 2 : 0;
    // Neither longer than need be, nor a surrogate, nor beyond Unicode.
    if (lead >= 0xe0 && lead <= 0xef) {
        const bool second = follows(1, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf);
        return second && follows(2) ? 3 : 0;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        const bool second = follows(1, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf);
        return second && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

void append_escaped(std::string& out, std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        if (const std::size_t size = printable_beyond_ascii(text.substr(i)); size > 0) {
            out += text.substr(i, size);
            i += size - 1;
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (byte < 0x20 || byte >= 0x7f) {
            out += fmt::format("\\u{:04x}", byte);
        } else {
            out += c;
        }
    }
}

bool needs_quotes(std::string_view text) {
    if (text.empty()) return true;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        if (const std::size_t size = printable_beyond_ascii(text.substr(i)); size > 0) {
            i += size - 1;
        } else if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '=' || c == '\\')
            return true;
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

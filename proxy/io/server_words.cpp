#include "proxy/io/server_words.h"

#include <algorithm>
#include <vector>

namespace pgb {

namespace {

constexpr std::string_view kAttemptPrefix = "connection to server ";
constexpr std::size_t kSqlstateSize = 5;

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > 0) lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

bool is_sqlstate(std::string_view word) {
    return std::all_of(word.begin(), word.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
}

/// Finds `SEVERITY:  CODE: ` and returns where it is; the severity is in the server's language.
bool find_code(std::string_view line, std::size_t* at) {
    for (std::size_t i = line.find(":  "); i != std::string_view::npos;
         i = line.find(":  ", i + 1)) {
        const std::string_view code = line.substr(std::min(i + 3, line.size()), kSqlstateSize);
        if (code.size() == kSqlstateSize && is_sqlstate(code) &&
            line.substr(i + 3 + kSqlstateSize, 2) == ": ") {
            *at = i + 3;
            return true;
        }
    }
    return false;
}

bool take_field(std::string_view line, std::string_view name, std::string* into) {
    if (!line.starts_with(name)) return false;
    *into = line.substr(name.size());
    return true;
}

}  // namespace

ServerWords read_server_words(std::string_view text) {
    ServerWords words;
    // A name in the server's message may contain line breaks and look like another message, so only
    // the first code of a host counts.
    bool has_code = false;
    bool in_message = false;
    std::string last_line;
    for (const std::string_view line : split_lines(text)) {
        if (line.starts_with(kAttemptPrefix)) has_code = in_message = false;
        std::size_t at = 0;
        if (!has_code && find_code(line, &at)) {
            words = {std::string(line.substr(at, kSqlstateSize)),
                     std::string(line.substr(at + kSqlstateSize + 2)),
                     {},
                     {}};
            has_code = in_message = true;
        } else if (has_code &&
                   (take_field(line, "DETAIL:  ", &words.detail) ||
                    take_field(line, "HINT:  ", &words.hint) || line.starts_with("LOCATION:  "))) {
            in_message = false;
        } else if (in_message) {
            words.message += ' ';
            words.message += line;
        }
        // A tab begins libpq's advice about the line before.
        if (line[0] != '\t') last_line = line;
    }
    if (words.sqlstate.empty()) words.message = last_line;
    return words;
}

}  // namespace pgb

#include "proxy/admin/accept.h"

#include <algorithm>

namespace pgb {

namespace {

// Weights have three digits at most, so thousandths are exact.
constexpr int kFull = 1000;

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Names of types and parameters come in any case; `word` is in lower case.
bool is_same_word(std::string_view text, std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char c, char lower) {
        return c == lower || (c >= 'A' && c <= 'Z' && c - 'A' + 'a' == lower);
    });
}

std::string_view unquoted(std::string_view text) {
    const bool is_quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
    return is_quoted ? text.substr(1, text.size() - 2) : text;
}

/// Takes what stands before the next `separator` off the text.
std::string_view take(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return trimmed(part);
}

/// `0`, `0.5`, `1.000` in thousandths; anything else is 0.
int weight_of(std::string_view text) {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return 0;
    int weight = (text[0] - '0') * kFull;
    if (text.size() > 1 && text[1] != '.') return 0;
    int place = kFull / 10;
    for (const char digit : text.substr(std::min<std::size_t>(text.size(), 2))) {
        if (digit < '0' || digit > '9') return 0;
        weight += (digit - '0') * place;
        place /= 10;
    }
    return std::min(weight, kFull);
}

struct Range {
    std::string_view type;
    std::string_view version;
    int weight = kFull;
};

Range read_range(std::string_view text) {
    Range range;
    range.type = take(text, ';');
    while (!text.empty()) {
        std::string_view parameter = take(text, ';');
        const std::string_view name = take(parameter, '=');
        if (is_same_word(name, "q")) range.weight = weight_of(trimmed(parameter));
        if (is_same_word(name, "version")) range.version = unquoted(trimmed(parameter));
    }
    return range;
}

}  // namespace

bool prefers_open_metrics(std::string_view accept) {
    int open = 0;
    int plain = 0;
    while (!accept.empty()) {
        const Range range = read_range(take(accept, ','));
        // 0.0.1 was a draft that 1.0.0 can be read as.
        const bool version_fits =
            range.version.empty() || range.version == "1.0.0" || range.version == "0.0.1";
        if (is_same_word(range.type, "application/openmetrics-text") && version_fits) {
            open = std::max(open, range.weight);
        }
        if (is_same_word(range.type, "text/plain")) plain = std::max(plain, range.weight);
    }
    return open > 0 && open >= plain;
}

}  // namespace pgb

#include <algorithm>

#include "protocol/ascii.h"
#include "protocol/startup.h"

namespace pgb {

namespace {

// One word, as pg_split_opts() cuts it: up to a blank that no backslash stands before.
std::string take_word(std::string_view& rest) {
    std::string word;
    bool escaped = false;
    while (!rest.empty() && (escaped || !is_blank(rest.front()))) {
        const char c = rest.front();
        rest.remove_prefix(1);
        if (!escaped && c == '\\') {
            escaped = true;
            continue;
        }
        escaped = false;
        word += c;
    }
    return word;
}

std::vector<std::string> split_words(std::string_view rest) {
    std::vector<std::string> words;
    while (true) {
        while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
        if (rest.empty()) return words;
        words.push_back(take_word(rest));
    }
}

// As ParseLongOption(): the name ends at the first '=', and its dashes stand for underscores.
std::optional<Setting> split_setting(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    Setting setting(text.substr(0, equals), text.substr(equals + 1));
    std::replace(setting.first.begin(), setting.first.end(), '-', '_');
    return setting;
}

}  // namespace

std::optional<std::vector<Setting>> parse_options(std::string_view options) {
    std::vector<Setting> settings;
    const std::vector<std::string> words = split_words(options);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        std::optional<Setting> setting;
        if (word == "-c") {
            if (i + 1 == words.size()) return std::nullopt;
            setting = split_setting(words[++i]);
        } else if (word.starts_with("-c") || word.starts_with("--")) {
            setting = split_setting(word.substr(2));
        }
        if (!setting) return std::nullopt;
        settings.push_back(std::move(*setting));
    }
    return settings;
}

}  // namespace pgb

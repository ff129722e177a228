#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "config/print.h"

namespace pgb::config {
namespace {

constexpr std::string_view kMask = "***";
constexpr std::array<std::string_view, 3> kSecretKeys{"password", "sslpassword", "passwd"};
constexpr std::string_view kBlanks = " \t\r\n\f\v";

bool is_secret(std::string_view key) {
    for (std::string_view secret : kSecretKeys) {
        if (key == secret) return true;
    }
    return false;
}

/// Length of a value as libpq reads it: in single quotes or up to a blank, a backslash takes the
/// next byte. An open quote reaches to the end.
std::size_t value_length(std::string_view text) {
    const bool quoted = !text.empty() && text[0] == '\'';
    for (std::size_t i = quoted ? 1 : 0; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (quoted && text[i] == '\'') {
            return i + 1;
        } else if (!quoted && kBlanks.find(text[i]) != std::string_view::npos) {
            return i;
        }
    }
    return text.size();
}

std::size_t blank_count(std::string_view text) {
    const std::size_t end = text.find_first_not_of(kBlanks);
    return end == std::string_view::npos ? text.size() : end;
}

std::string mask_words(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t lead = blank_count(text);
        result.append(text.substr(0, lead));
        text.remove_prefix(lead);
        if (text.empty()) break;
        const std::size_t equals = text.find('=');
        std::string_view key = text.substr(0, equals);
        while (!key.empty() && kBlanks.find(key.back()) != std::string_view::npos) {
            key.remove_suffix(1);
        }
        // No `=`, or words before it that belong to nothing: libpq will refuse this, and a password
        // with an unquoted blank looks just like it.
        if (equals == std::string_view::npos ||
            key.find_first_of(kBlanks) != std::string_view::npos) {
            return result.append(kMask);
        }
        const std::size_t gap = blank_count(text.substr(equals + 1));
        const std::size_t start = equals + 1 + gap;
        const std::size_t length = value_length(text.substr(start));
        result.append(text.substr(0, start));
        result.append(is_secret(key) ? kMask : text.substr(start, length));
        text.remove_prefix(start + length);
    }
    return result;
}

/// `?a=b&password=c`, from its question mark on.
std::string mask_parameters(std::string_view query) {
    std::string result;
    while (!query.empty()) {
        const std::size_t end = query.find('&', 1);
        const std::string_view part = query.substr(0, end);
        const std::size_t equals = part.find('=');
        // A percent sign in a key may spell `password` in another way.
        const std::string_view key =
            equals == std::string_view::npos ? part.substr(1) : part.substr(1, equals - 1);
        const bool secret = is_secret(key) || key.find('%') != std::string_view::npos;
        result += part[0];
        if (secret) {
            result.append(key).append("=").append(kMask);
        } else {
            result.append(part.substr(1));
        }
        query.remove_prefix(part.size());
    }
    return result;
}

std::string mask_uri(std::string_view text) {
    const std::size_t start = text.find("://") + 3;
    const std::size_t authority_end = text.find_first_of("/?", start);
    const std::string_view authority = text.substr(start, authority_end - start);
    std::string result(text.substr(0, start));
    const std::size_t at = authority.rfind('@');
    const std::size_t colon = authority.find(':');
    if (at != std::string_view::npos && colon < at) {
        result.append(authority.substr(0, colon + 1)).append(kMask).append(authority.substr(at));
    } else {
        result.append(authority);
    }
    if (authority_end == std::string_view::npos) return result;
    const std::string_view rest = text.substr(authority_end);
    // A slash or question mark in a password must be written in percent form; one that was not puts
    // the at sign behind the authority.
    if (at == std::string_view::npos && rest.find('@') != std::string_view::npos) {
        return std::string(text.substr(0, start)).append(kMask);
    }
    const std::size_t question = rest.find('?');
    result.append(rest.substr(0, question));
    if (question != std::string_view::npos) result.append(mask_parameters(rest.substr(question)));
    return result;
}

}  // namespace

std::string mask_conninfo(std::string_view conninfo) {
    const bool uri = conninfo.starts_with("postgresql://") || conninfo.starts_with("postgres://");
    return uri ? mask_uri(conninfo) : mask_words(conninfo);
}

}  // namespace pgb::config

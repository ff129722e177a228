#include "protocol/scram_reader.h"

#include <algorithm>

#include "protocol/sqlstate.h"

namespace pgb {

namespace {

constexpr std::size_t kShownMax = 30;
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_visible(char c) { return c >= 0x21 && c <= 0x7e; }
bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace

ScramFault malformed_scram(std::string detail) {
    return {sqlstate::kProtocolViolation, "malformed SCRAM message", std::move(detail)};
}

std::string shown_scram_text(std::string_view text) {
    std::string shown(text.substr(0, kShownMax));
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return !is_visible(c); }, '?');
    return shown;
}

void ScramReader::fail(ScramFault fault) {
    if (!fault_) fault_ = std::move(fault);
}

std::string ScramReader::shown() const {
    const char next = peek();
    if (is_visible(next)) return {'\'', next, '\''};
    const auto byte = static_cast<unsigned char>(next);
    return {'0', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
}

void ScramReader::take_comma() {
    if (peek() != ',') complain("Comma expected, but found character \"" + shown() + "\".");
    skip();
}

std::string_view ScramReader::take_assigned(char name) {
    skip();
    if (peek() != '=') {
        complain(std::string("Expected character \"=\" for attribute \"") + name + "\".");
        return {};
    }
    skip();
    const std::string_view value = rest_.substr(0, rest_.find(','));
    rest_.remove_prefix(std::min(value.size() + 1, rest_.size()));
    return value;
}

std::string_view ScramReader::take_value(char name) {
    if (failed()) return {};
    if (peek() != name) {
        complain(std::string("Expected attribute \"") + name + "\" but found \"" + shown() + "\".");
        return {};
    }
    return take_assigned(name);
}

ScramReader::Attribute ScramReader::take_any() {
    if (failed()) return {};
    const char name = peek();
    if (at_end()) {
        complain("Attribute expected, but found end of string.");
        return {};
    }
    if (!is_letter(name)) {
        complain("Attribute expected, but found invalid character \"" + shown() + "\".");
        return {};
    }
    return {name, take_assigned(name)};
}

}  // namespace pgb

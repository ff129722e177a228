#include "proxy/session/plain_text.h"

#include <array>
#include <cstdint>

namespace pgb {

namespace {

enum ByteKind : std::uint8_t {
    plain,
    telling,  ///< needs a lexer
    pairs,    ///< begins a comment with the right byte behind it
    dollar,   ///< begins a parameter, or a literal
    letter_t,
};

constexpr std::array<std::uint8_t, 256> make_kinds() {
    std::array<std::uint8_t, 256> kinds{};
    for (const char c : {'(', ';', '\'', '"', '\\'}) {
        kinds[static_cast<unsigned char>(c)] = telling;
    }
    kinds['-'] = kinds['/'] = pairs;
    kinds['$'] = dollar;
    kinds['t'] = kinds['T'] = letter_t;
    return kinds;
}

constexpr std::array<std::uint8_t, 256> kKinds = make_kinds();

// Whether these lower-case letters stand there, in any case.
bool stands_at(std::string_view text, std::size_t at, std::string_view letters) {
    if (text.size() < at + letters.size()) return false;
    for (std::size_t i = 0; i < letters.size(); ++i) {
        if (static_cast<char>(text[at + i] | 0x20) != letters[i]) return false;
    }
    return true;
}

// Of a byte of that kind: whether what stands behind it keeps the text plain.
bool stays_plain(std::string_view text, std::size_t at, std::uint8_t kind) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    switch (kind) {
        case pairs: return next != '-' && next != '*';
        case dollar: return next >= '0' && next <= '9';
        case letter_t: return !stands_at(text, at + 1, "emp") && !stands_at(text, at + 1, "tings");
        default: return false;
    }
}

}  // namespace

bool is_plain_text(std::string_view text) {
    while (text.ends_with(';')) text.remove_suffix(1);
    if (!stands_at(text, 0, "select") && !stands_at(text, 0, "insert") &&
        !stands_at(text, 0, "update") && !stands_at(text, 0, "delete")) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::uint8_t kind = kKinds[static_cast<unsigned char>(text[i])];
        if (kind != plain && !stays_plain(text, i, kind)) return false;
    }
    return true;
}

}  // namespace pgb

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

}  // namespace

bool is_plain_text(std::string_view text) {
    while (text.ends_with(';')) text.remove_suffix(1);
    if (!stands_at(text, 0, "select") && !stands_at(text, 0, "insert") &&
        !stands_at(text, 0, "update") && !stands_at(text, 0, "delete")) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        switch (kKinds[static_cast<unsigned char>(text[i])]) {
            case telling: return false;
            case pairs:
                if (stands_at(text, i + 1, "-") || stands_at(text, i + 1, "*")) return false;
                break;
            case dollar:
                if (i + 1 >= text.size() || text[i + 1] < '0' || text[i + 1] > '9') return false;
                break;
            case letter_t:
                if (stands_at(text, i + 1, "emp") || stands_at(text, i + 1, "tings")) return false;
                break;
            default: break;
        }
    }
    return true;
}

}  // namespace pgb

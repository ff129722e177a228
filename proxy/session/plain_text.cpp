#include "proxy/session/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace pgb {

namespace {

enum ByteKind : std::uint8_t {
    plain,
    telling,   ///< needs a lexer
    pairs,     ///< begins a comment with the right byte behind it
    dollar,    ///< begins a parameter, or a literal
    word_end,  ///< may end a word that tells; rarer in SQL than the letters before it
};

constexpr std::array<std::uint8_t, 256> make_kinds() {
    std::array<std::uint8_t, 256> kinds{};
    for (const char c : {'(', ';', '\'', '"', '\\'}) {
        kinds[static_cast<unsigned char>(c)] = telling;
    }
    kinds['-'] = kinds['/'] = pairs;
    kinds['$'] = dollar;
    for (const char c : {'p', 'P', 'g', 'G'}) kinds[static_cast<unsigned char>(c)] = word_end;
    return kinds;
}

constexpr std::array<std::uint8_t, 256> kKinds = make_kinds();

// Texts are read in steps of so many bytes as long as all of them are plain.
constexpr std::size_t kStep = 4;

std::uint8_t kind_of(char byte) { return kKinds[static_cast<unsigned char>(byte)]; }

bool all_plain(const char* at) {
    return (kind_of(at[0]) | kind_of(at[1]) | kind_of(at[2]) | kind_of(at[3])) == plain;
}

// Whether these lower-case letters stand there, in any case.
bool stands_at(std::string_view text, std::size_t at, std::string_view letters) {
    if (text.size() < at + letters.size()) return false;
    for (std::size_t i = 0; i < letters.size(); ++i) {
        if (static_cast<char>(text[at + i] | 0x20) != letters[i]) return false;
    }
    return true;
}

// Whether these lower-case letters end with that byte, in any case.
bool ends_at(std::string_view text, std::size_t at, std::string_view letters) {
    return at + 1 >= letters.size() && stands_at(text, at + 1 - letters.size(), letters);
}

// Of a byte of that kind: whether what stands around it keeps the text plain.
bool stays_plain(std::string_view text, std::size_t at, std::uint8_t kind) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    switch (kind) {
        case pairs: return next != '-' && next != '*';
        case dollar: return next >= '0' && next <= '9';
        case word_end: return !ends_at(text, at, "temp") && !ends_at(text, at, "setting");
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
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = std::min(i + kStep, text.size());
        if (end == i + kStep && all_plain(text.data() + i)) {
            i = end;
            continue;
        }
        for (; i < end; ++i) {
            const std::uint8_t kind = kind_of(text[i]);
            if (kind != plain && !stays_plain(text, i, kind)) return false;
        }
    }
    return true;
}

}  // namespace pgb

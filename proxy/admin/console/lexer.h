#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pgb {

enum class ConsoleTokenKind : std::uint8_t {
    end,
    word,    ///< also numbers and values: `reports`, `bulk-load`, `8`, `250ms`
    quoted,  ///< "name" or 'text'; its text is without the quotes
    symbol,  ///< one byte
    broken,  ///< a quote or a comment that does not end
};

struct ConsoleToken {
    ConsoleTokenKind kind = ConsoleTokenKind::end;
    std::string text;

    /// A word equal to `lower` in any case.
    [[nodiscard]] bool is(std::string_view lower) const;
    [[nodiscard]] bool is_symbol(char c) const {
        return kind == ConsoleTokenKind::symbol && text[0] == c;
    }
    /// What may stand for a name or a value.
    [[nodiscard]] bool is_value() const {
        return kind == ConsoleTokenKind::word || kind == ConsoleTokenKind::quoted;
    }
};

/// Cuts the console's statements. Not SQL's lexer: names of workloads and durations are words here, so
/// that nobody has to quote them in a hurry. Blanks and comments as in SQL. Pure.
class ConsoleLexer {
public:
    explicit ConsoleLexer(std::string_view text) : text_(text) {}

    ConsoleToken next();
    /// Where the next token is looked for.
    [[nodiscard]] std::size_t at() const { return at_; }

private:
    /// False: a comment does not end.
    bool skip_blanks();
    bool skip_block_comment();
    ConsoleToken quoted(char quote);

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace pgb

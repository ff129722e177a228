#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pgb {

enum class SqlTokenKind : std::uint8_t {
    end,
    word,    ///< keyword or unquoted identifier
    quoted,  ///< "identifier", terminated and not empty
    string,  ///< 'literal', terminated, without any backslash
    comma,
    semicolon,
    other,  ///< anything else, and what is not terminated: matches nothing. One byte, but for E'..'
            ///< and dollar-quoted literals, which are skipped whole.
};

struct SqlToken {
    SqlTokenKind kind = SqlTokenKind::end;
    std::string_view text;  ///< as written, quotes included

    /// A word equal to `keyword` (lower case, letters only) in any case.
    [[nodiscard]] bool is(std::string_view keyword) const {
        if (kind != SqlTokenKind::word || text.size() != keyword.size()) return false;
        for (std::size_t i = 0; i < text.size(); ++i) {
            // Sets the bit that tells 'a' from 'A'; no other byte becomes a letter by that.
            if ((static_cast<unsigned char>(text[i]) | 0x20) != keyword[i]) return false;
        }
        return true;
    }
};

/// The little of PostgreSQL's lexer (its scan.l) that a transaction statement and the end of a
/// statement need. Blanks are those of PostgreSQL 15: a vertical tab is none. Works in one pass
/// over the text and allocates nothing.
class SqlScanner {
public:
    explicit SqlScanner(std::string_view text) : text_(text) {}

    /// The next token behind blanks and comments.
    SqlToken next();

    /// Skips to behind the next semicolon that is in no literal, quoted identifier or comment;
    /// false when there is none. Takes a backslash in a literal for an ordinary character.
    bool skip_statement();

private:
    [[nodiscard]] char peek(std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }
    bool skip_blanks();
    bool skip_block_comment();
    bool skip_quoted(char quote);
    void skip_escape_string();
    void skip_word();
    void skip_dollar();

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace pgb

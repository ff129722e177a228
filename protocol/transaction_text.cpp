#include "protocol/sql_scanner.h"
#include "protocol/transaction_statement.h"

namespace pgb {

namespace {

// Without regard to where literals begin and end: any such word counts.
bool mentions_commit(std::string_view text) {
    const auto is_part = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        while (at < text.size() && is_part(text[at])) ++at;
        const SqlToken word{SqlTokenKind::word, text.substr(begin, at - begin)};
        if (word.is("commit") || word.is("end") || word.is("prepare")) return true;
        if (at == begin) ++at;
    }
    return false;
}

}  // namespace

bool may_commit(std::string_view text) {
    // Where a literal with a backslash ends depends on standard_conforming_strings, on an E
    // before it and on the client's encoding (Shift-JIS has 0x5c inside characters).
    const bool has_more = text.find(';') != text.npos;
    if (has_more && text.find('\\') != text.npos) return mentions_commit(text);
    SqlScanner scanner(text);
    do {
        SqlToken token = scanner.next();
        while (token.kind == SqlTokenKind::semicolon) token = scanner.next();
        if (token.is("commit") || token.is("end")) return true;
        if (token.is("prepare")) {
            SqlScanner behind = scanner;
            if (behind.next().is("transaction")) return true;
        }
    } while (has_more && scanner.skip_statement());
    return false;
}

}  // namespace pgb

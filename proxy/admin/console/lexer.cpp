#include "proxy/admin/console/lexer.h"

#include "protocol/sql_name.h"

namespace pgb {

namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool ConsoleToken::is(std::string_view lower) const {
    return kind == ConsoleTokenKind::word && is_in_any_case(text, lower);
}

bool ConsoleLexer::skip_block_comment() {
    int depth = 0;
    while (at_ < text_.size()) {
        const std::string_view two = text_.substr(at_, 2);
        if (two == "/*") {
            ++depth;
            at_ += 2;
        } else if (two == "*/") {
            at_ += 2;
            if (--depth == 0) return true;
        } else {
            ++at_;
        }
    }
    return false;
}

bool ConsoleLexer::skip_blanks() {
    while (at_ < text_.size()) {
        const std::string_view two = text_.substr(at_, 2);
        if (is_blank(text_[at_])) {
            ++at_;
        } else if (two == "--") {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (two != "/*") {
            return true;
        } else if (!skip_block_comment()) {
            return false;
        }
    }
    return true;
}

ConsoleToken ConsoleLexer::quoted(char quote) {
    ConsoleToken token{ConsoleTokenKind::quoted, {}};
    for (++at_; at_ < text_.size(); ++at_) {
        if (text_[at_] == quote) {
            ++at_;
            if (at_ >= text_.size() || text_[at_] != quote) return token;
        }
        token.text += text_[at_];
    }
    return {ConsoleTokenKind::broken, {}};
}

ConsoleToken ConsoleLexer::next() {
    if (!skip_blanks()) return {ConsoleTokenKind::broken, {}};
    if (at_ >= text_.size()) return {};
    const char first = text_[at_];
    if (first == '\'' || first == '"') return quoted(first);
    const std::size_t begin = at_;
    if (!is_word_byte(first)) {
        ++at_;
        return {ConsoleTokenKind::symbol, std::string(1, first)};
    }
    const auto goes_on = [this] {
        if (is_word_byte(text_[at_])) return true;
        // Names have hyphens; two of them begin a comment.
        return text_[at_] == '-' && at_ + 1 < text_.size() && is_word_byte(text_[at_ + 1]);
    };
    while (at_ < text_.size() && goes_on()) ++at_;
    return {ConsoleTokenKind::word, std::string(text_.substr(begin, at_ - begin))};
}

}  // namespace pgb

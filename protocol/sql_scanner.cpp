#include "protocol/sql_scanner.h"

#include <array>

namespace pgb {

namespace {

// Bits of a byte's class.
constexpr std::uint8_t kBlank = 1;
constexpr std::uint8_t kWordStart = 2;
constexpr std::uint8_t kWordPart = 4;

constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> classes{};
    for (const char c : {' ', '\t', '\n', '\r', '\f'}) {
        classes[static_cast<unsigned char>(c)] = kBlank;
    }
    for (unsigned c = 0; c < 256; ++c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (is_letter || c == '_' || c >= 0x80) classes[c] = kWordStart | kWordPart;
        if ((c >= '0' && c <= '9') || c == '$') classes[c] = kWordPart;
    }
    return classes;
}

constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool is(char c, std::uint8_t wanted) {
    return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

}  // namespace

SqlToken SqlScanner::next() {
    if (!skip_blanks()) return {SqlTokenKind::other, {}};
    if (at_ == text_.size()) return {SqlTokenKind::end, {}};
    const std::size_t begin = at_;
    const char first = text_[at_];
    if (is(first, kWordStart)) {
        skip_word();
        const bool escapes = at_ - begin == 1 && (first == 'e' || first == 'E') && peek() == '\'';
        if (escapes) skip_escape_string();
        return {escapes ? SqlTokenKind::other : SqlTokenKind::word,
                text_.substr(begin, at_ - begin)};
    }
    if (first == '$') {
        skip_dollar();
        return {SqlTokenKind::other, text_.substr(begin, at_ - begin)};
    }
    if (first == '"' || first == '\'') {
        const bool terminated = skip_quoted(first);
        const std::string_view text = text_.substr(begin, at_ - begin);
        const bool usable = first == '"' ? text.size() > 2 : text.find('\\') == text.npos;
        if (!terminated || !usable) return {SqlTokenKind::other, text};
        return {first == '"' ? SqlTokenKind::quoted : SqlTokenKind::string, text};
    }
    ++at_;
    const std::string_view text = text_.substr(begin, 1);
    if (first == ',') return {SqlTokenKind::comma, text};
    if (first == ';') return {SqlTokenKind::semicolon, text};
    return {SqlTokenKind::other, text};
}

bool SqlScanner::skip_statement() {
    while (skip_blanks() && at_ < text_.size()) {
        const char c = text_[at_];
        if (is(c, kWordStart)) {
            skip_word();
        } else if (c == '"' || c == '\'') {
            skip_quoted(c);
        } else if (c == '$') {
            skip_dollar();
        } else {
            ++at_;
            if (c == ';') return true;
        }
    }
    return false;
}

// False: a comment is not terminated; the scanner then stands at the end.
bool SqlScanner::skip_blanks() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (is(c, kBlank)) {
            ++at_;
        } else if (c == '-' && peek(1) == '-') {
            const std::size_t end = text_.find_first_of("\r\n", at_);
            at_ = end == text_.npos ? text_.size() : end;
        } else if (c == '/' && peek(1) == '*') {
            if (!skip_block_comment()) return false;
        } else {
            return true;
        }
    }
    return true;
}

bool SqlScanner::skip_block_comment() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
        if (text_[at_] == '/' && peek(1) == '*') {
            ++depth;
            at_ += 2;
        } else if (text_[at_] == '*' && peek(1) == '/') {
            at_ += 2;
            if (--depth == 0) return true;
        } else {
            ++at_;
        }
    }
    return false;
}

// A doubled quote is two quoted texts that touch, which comes to the same end.
bool SqlScanner::skip_quoted(char quote) {
    do {
        const std::size_t end = text_.find(quote, at_ + 1);
        if (end == text_.npos) {
            at_ = text_.size();
            return false;
        }
        at_ = end + 1;
    } while (peek() == quote && at_ < text_.size());
    return true;
}

// E'..': a backslash takes the next byte as it is.
void SqlScanner::skip_escape_string() {
    ++at_;
    while (at_ < text_.size()) {
        const char c = text_[at_++];
        if (c == '\\') {
            if (at_ < text_.size()) ++at_;
        } else if (c == '\'') {
            if (peek() != '\'' || at_ >= text_.size()) return;
            ++at_;
        }
    }
}

void SqlScanner::skip_word() {
    while (at_ < text_.size() && is(text_[at_], kWordPart)) ++at_;
}

// $tag$ ... $tag$, or a lone dollar. The tag is a word without a dollar, or nothing.
void SqlScanner::skip_dollar() {
    std::size_t end = at_ + 1;
    if (end < text_.size() && is(text_[end], kWordStart)) {
        while (end < text_.size() && text_[end] != '$' && is(text_[end], kWordPart)) ++end;
    }
    if (end >= text_.size() || text_[end] != '$') {
        ++at_;
        return;
    }
    const std::string_view tag = text_.substr(at_, end + 1 - at_);
    const std::size_t close = text_.find(tag, end + 1);
    at_ = close == text_.npos ? text_.size() : close + tag.size();
}

}  // namespace pgb

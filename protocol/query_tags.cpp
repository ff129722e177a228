#include "protocol/query_tags.h"

#include "protocol/ascii.h"

namespace pgb {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

std::string_view trim_front(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    return text;
}

std::string_view trim_back(std::string_view text) {
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

bool is_key_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '~' || c == '%';
}

struct Pair {
    std::string_view key;
    std::string_view value;
    bool encoded = false;  // between quotes
};

// Takes `'value'`; false: there is none.
bool take_quoted(std::string_view& rest, std::string_view& value) {
    if (rest.empty() || rest.front() != '\'') return false;
    rest.remove_prefix(1);
    std::size_t end = 0;
    while (end < rest.size() && rest[end] != '\'') {
        end += rest[end] == '\\' && end + 1 < rest.size() ? 2U : 1U;
    }
    if (end >= rest.size()) return false;
    value = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return true;
}

// Takes a value up to a comma. A blank in front is prose, and so are quotes: `Note: don't`.
bool take_plain(std::string_view& rest, std::string_view& value) {
    value = rest.substr(0, rest.find(','));
    rest.remove_prefix(value.size());
    if (value.empty() || is_blank(value.front())) return false;
    value = trim_back(value);
    return value.find_first_of("'\"$") == kNone;
}

// Takes one pair and the comma behind it; false: what stands here is none. Empty `rest`: the end.
bool take_pair(std::string_view& rest, Pair& pair) {
    std::size_t end = 0;
    while (end < rest.size()) {
        if (is_key_byte(rest[end])) {
            ++end;
        } else if (rest.substr(end, 2) == "\\'") {
            end += 2;
        } else {
            break;
        }
    }
    if (end == 0 || end == rest.size()) return false;
    pair.key = rest.substr(0, end);
    pair.encoded = rest[end] == '=';
    if (!pair.encoded && rest[end] != ':') return false;
    rest.remove_prefix(end + 1);
    if (!(pair.encoded ? take_quoted(rest, pair.value) : take_plain(rest, pair.value))) {
        return false;
    }
    rest = trim_front(rest);
    if (rest.empty()) return true;
    if (rest.front() != ',') return false;
    rest = trim_front(rest.substr(1));
    return !rest.empty();
}

// The comment's pairs, if it has nothing else; else nothing.
std::string_view if_pairs(std::string_view comment) {
    comment = trim_back(trim_front(comment));
    std::string_view rest = comment;
    Pair pair;
    while (!rest.empty()) {
        if (!take_pair(rest, pair)) return {};
    }
    return comment;
}

// The comment with its signs at the beginning of the text.
std::string_view leading_comment(std::string_view text) {
    text = trim_front(text.substr(0, QueryTags::kLeadingMax));
    if (text.substr(0, 2) != "/*") return {};
    const std::size_t end = text.find("*/", 2);
    return end == kNone ? std::string_view() : text.substr(0, end + 2);
}

// Sequel's kind. Its `--` stands apart, so that one inside a value is not taken for it.
std::string_view line_comment(std::string_view text) {
    for (std::size_t at = text.size(); at-- > 0;) {
        if (text[at] == '\n' || text[at] == '\r') return {};
        if (text[at] != '-' || at + 1 == text.size() || text[at + 1] != '-') continue;
        if (at == 0 || is_blank(text[at - 1])) return text.substr(at);
    }
    return {};
}

// The comment with its signs at the end of the text.
std::string_view trailing_comment(std::string_view text) {
    if (text.size() > QueryTags::kTrailingMax) {
        text.remove_prefix(text.size() - QueryTags::kTrailingMax);
    }
    // All of them: what is kept of a text is read again, and must not lose one more then.
    while (!text.empty() && (text.back() == ';' || is_blank(text.back()))) text.remove_suffix(1);
    if (text.size() < 4 || text.substr(text.size() - 2) != "*/") return line_comment(text);
    const std::size_t start = text.rfind("/*", text.size() - 4);
    return start == kNone ? std::string_view() : text.substr(start);
}

std::string_view pairs_of(std::string_view comment) {
    if (comment.empty()) return {};
    if (comment[0] == '-') return if_pairs(comment.substr(2));
    const std::string_view body = comment.substr(2, comment.size() - 4);
    if (body.find("/*") != kNone || body.find("*/") != kNone) return {};
    return if_pairs(body);
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// One text, byte by byte as it was before it was encoded.
class Decoder {
public:
    Decoder(std::string_view text, bool encoded) : rest_(text), encoded_(encoded) {}

    [[nodiscard]] bool done() const { return rest_.empty(); }

    char next() {
        const char c = take();
        if (!encoded_) return c;
        if (c == '+') return ' ';
        if (c == '\\' && !rest_.empty() && rest_.front() == '\'') return take();
        if (c != '%') return c;
        if (!rest_.empty() && rest_.front() == '%') take();
        const int high = rest_.size() < 2 ? -1 : hex_digit(rest_[0]);
        const int low = rest_.size() < 2 ? -1 : hex_digit(rest_[1]);
        if (high < 0 || low < 0) return c;
        rest_.remove_prefix(2);
        return static_cast<char>(high * 16 + low);
    }

private:
    char take() {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }

    std::string_view rest_;
    bool encoded_;
};

bool decodes_to(std::string_view raw, bool encoded, std::string_view wanted) {
    Decoder decoder(raw, encoded);
    for (const char c : wanted) {
        if (decoder.done() || decoder.next() != c) return false;
    }
    return decoder.done();
}

bool find_pair(std::string_view pairs, std::string_view key, Pair& pair) {
    for (std::size_t count = 0; !pairs.empty() && count < QueryTags::kPairsMax; ++count) {
        take_pair(pairs, pair);
        if (pair.key.size() > QueryTags::kKeyMax || pair.value.size() > QueryTags::kValueMax) {
            continue;
        }
        if (decodes_to(pair.key, pair.encoded, key)) return true;
    }
    return false;
}

}  // namespace

QueryTags::QueryTags(std::string_view text, bool whole)
    : comments_{whole ? pairs_of(trailing_comment(text)) : std::string_view(),
                pairs_of(leading_comment(text))} {}

std::optional<std::string> QueryTags::value(std::string_view key) const {
    Pair pair;
    for (const std::string_view pairs : comments_) {
        if (!find_pair(pairs, key, pair)) continue;
        std::string value;
        for (Decoder decoder(pair.value, pair.encoded); !decoder.done();) value += decoder.next();
        return value;
    }
    return std::nullopt;
}

bool QueryTags::has(std::string_view key, std::string_view value) const {
    Pair pair;
    for (const std::string_view pairs : comments_) {
        if (find_pair(pairs, key, pair)) return decodes_to(pair.value, pair.encoded, value);
    }
    return false;
}

std::string tag_comments(std::string_view text, bool whole) {
    std::string kept;
    if (const std::string_view leading = leading_comment(text); !pairs_of(leading).empty()) {
        kept.append(leading).append("\n");
    }
    const std::string_view trailing = whole ? trailing_comment(text) : std::string_view();
    if (!pairs_of(trailing).empty()) kept.append(trailing);
    return kept;
}

}  // namespace pgb

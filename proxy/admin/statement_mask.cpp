#include "proxy/admin/statement_mask.h"

#include <algorithm>
#include <array>

#include "protocol/ascii.h"
#include "protocol/sql_scanner.h"

namespace pgb {

namespace {

constexpr std::string_view kCut = "...";
constexpr std::array<std::string_view, 8> kShownVerbs = {"select", "insert", "update", "delete",
                                                         "merge",  "with",   "values", "table"};

std::string upper(std::string_view word) {
    std::string result(word);
    for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return result;
}

/// One text on its way; see mask_statement().
class Masker {
public:
    Masker(std::string_view text, bool whole) : text_(text), whole_(whole), scanner_(text) {}

    std::string run() {
        for (;;) {
            const SqlToken token = scanner_.next();
            if (token.kind == SqlTokenKind::end) break;
            // A comment that does not end.
            if (token.text.empty()) return cut();
            if (!take(token)) return cut();
        }
        return whole_ ? std::move(out_) : cut();
    }

private:
    enum class Last { nothing, parameter, number };

    // False: the rest is not shown.
    bool take(const SqlToken& token) {
        const auto at = static_cast<std::size_t>(token.text.data() - text_.data());
        const bool touches = at == end_;
        if (!touches) last_ = Last::nothing;
        const std::size_t end = at + token.text.size();
        if (last_ == Last::number && belongs_to_number(token)) {
            end_ = end;
            return true;
        }
        if (!is_digit(token.text[0])) last_ = Last::nothing;
        if (!touches && !out_.empty()) out_ += ' ';
        end_ = end;
        switch (token.kind) {
            case SqlTokenKind::end: return false;
            case SqlTokenKind::word: return take_word(token.text);
            case SqlTokenKind::string: return take_literal();
            case SqlTokenKind::semicolon:
                begins_ = true;
                out_ += ';';
                return true;
            case SqlTokenKind::quoted:
            case SqlTokenKind::comma: return take_plain(token.text);
            case SqlTokenKind::other: return take_other(token.text);
        }
        return false;
    }

    // 0x1F, 1.5, 1e5 and 1_000 come in pieces.
    static bool belongs_to_number(const SqlToken& token) {
        return token.kind == SqlTokenKind::word || token.text == "." || is_digit(token.text[0]);
    }

    bool take_word(std::string_view word) {
        if (begins_) {
            begins_ = false;
            const bool shown =
                std::any_of(kShownVerbs.begin(), kShownVerbs.end(), [word](std::string_view verb) {
                    return SqlToken{SqlTokenKind::word, word}.is(verb);
                });
            if (!shown) {
                out_ += upper(word);
                return ends_here();
            }
        }
        out_ += word;
        return true;
    }

    // Behind a verb alone: true when nothing of the text is left out by ending here.
    bool ends_here() {
        SqlScanner ahead = scanner_;
        SqlToken next = ahead.next();
        while (next.kind == SqlTokenKind::semicolon) next = ahead.next();
        if (next.kind == SqlTokenKind::end) return true;
        out_ += ' ';
        return false;
    }

    bool take_plain(std::string_view text) {
        begins_ = false;
        out_ += text;
        return true;
    }

    bool take_literal() {
        begins_ = false;
        out_ += '?';
        return true;
    }

    bool take_other(std::string_view text) {
        const char first = text[0];
        const bool opens = first == '(';
        if (!opens) begins_ = false;
        if (first == '$') {
            if (text.size() > 1) return take_literal();
            // A parameter; anything else may be a dollar-quoted text that does not end.
            if (end_ >= text_.size() || !is_digit(text_[end_])) return false;
            last_ = Last::parameter;
        } else if (is_digit(first)) {
            if (last_ != Last::parameter) {
                last_ = Last::number;
                return take_literal();
            }
        } else if (first == '\'') {
            // It does not end, or its backslash may mean that it ends elsewhere.
            take_literal();
            return false;
        } else if (text.size() > 1 && first != '"') {
            return take_literal();  // E'..'
        }
        out_ += text;
        return true;
    }

    std::string cut() {
        out_ += kCut;
        return std::move(out_);
    }

    std::string_view text_;
    bool whole_;
    SqlScanner scanner_;
    std::string out_;
    std::size_t end_ = 0;  // of the last token
    Last last_ = Last::nothing;
    bool begins_ = true;  // the next word is a statement's verb
};

}  // namespace

std::string mask_statement(std::string_view text, bool whole) { return Masker(text, whole).run(); }

}  // namespace pgb

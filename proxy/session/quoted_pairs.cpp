#include "proxy/session/quoted_pairs.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace pgb {

namespace {

constexpr std::size_t kFaultsMax = 100;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class PairsReader {
public:
    PairsReader(std::span<char> text, const PairWords& words)
        : words_(words), at_(text.data()), end_(at_ + text.size()) {}

    QuotedPairs read() {
        while (at_ != end_ && result_.faults.size() < kFaultsMax) read_line();
        return std::move(result_);
    }

private:
    void read_line() {
        ++line_;
        begin_ = at_;
        line_end_ = std::find(at_, end_, '\n');
        skip_blanks();
        if (at_ != line_end_ && *at_ != ';' && *at_ != '#') read_pair();
        at_ = line_end_ == end_ ? end_ : line_end_ + 1;
    }

    void read_pair() {
        QuotedPair pair;
        pair.line = line_;
        pair.first_column = column();
        const auto first = read_quoted(words_.first);
        if (!first) return;
        if (at_ == line_end_ || !is_blank(*at_)) return complain(column(), "a blank must follow");
        skip_blanks();
        pair.second_column = column();
        const auto second = read_quoted(words_.second);
        if (!second) return;
        skip_blanks();
        if (at_ != line_end_) return complain(column(), "nothing more may stand on this line");
        pair.first = *first;
        pair.second = *second;
        result_.pairs.push_back(pair);
    }

    /// What stands between quotes, of which doubled ones become single.
    std::optional<std::string_view> read_quoted(std::string_view what) {
        const std::uint32_t open = column();
        if (at_ == line_end_ || *at_ != '"') {
            complain(open, std::string(what) + " in double quotes must stand here");
            return std::nullopt;
        }
        char* to = ++at_;
        const char* const begin = to;
        for (; at_ != line_end_; ++at_) {
            if (*at_ == '"') {
                if (at_ + 1 == line_end_ || at_[1] != '"') break;
                ++at_;
            }
            *to++ = *at_;
        }
        if (at_ == line_end_) {
            complain(open, "the quote is not closed on this line");
            return std::nullopt;
        }
        ++at_;
        const std::string_view read(begin, static_cast<std::size_t>(to - begin));
        if (read.find('\0') == std::string_view::npos) return read;
        complain(open, "no zero byte may stand here");
        return std::nullopt;
    }

    void skip_blanks() {
        while (at_ != line_end_ && is_blank(*at_)) ++at_;
    }
    [[nodiscard]] std::uint32_t column() const {
        return static_cast<std::uint32_t>(at_ - begin_) + 1;
    }
    void complain(std::uint32_t at, std::string text) {
        result_.faults.push_back({line_, at, std::move(text)});
    }

    PairWords words_;
    char* at_;
    char* end_;
    char* begin_ = nullptr;     // of the line
    char* line_end_ = nullptr;  // its newline, or the end
    std::uint32_t line_ = 0;
    QuotedPairs result_;
};

}  // namespace

void sort_faults(std::vector<LineFault>& faults) {
    std::sort(faults.begin(), faults.end(), [](const LineFault& one, const LineFault& other) {
        return std::pair(one.line, one.column) < std::pair(other.line, other.column);
    });
}

QuotedPairs parse_quoted_pairs(std::span<char> text, const PairWords& words) {
    return PairsReader(text, words).read();
}

}  // namespace pgb

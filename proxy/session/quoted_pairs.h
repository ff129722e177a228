#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pgb {

/// One line of a file of pairs. The views point into the text that was parsed; columns are those of
/// the opening quotes. Lines and columns count from 1, columns in bytes.
struct QuotedPair {
    std::string_view first;
    std::string_view second;
    std::uint32_t line = 0;
    std::uint32_t first_column = 0;
    std::uint32_t second_column = 0;
};

/// What is wrong, and where; never says what stands between quotes.
struct LineFault {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::string text;
};

/// Puts faults of several kinds into the order of the file.
void sort_faults(std::vector<LineFault>& faults);

struct QuotedPairs {
    std::vector<QuotedPair> pairs;
    std::vector<LineFault> faults;
};

/// What the two texts of each line are, for complaints: "a user's name".
struct PairWords {
    std::string_view first;
    std::string_view second;
};

/// Reads lines of two texts in double quotes. A quote inside is doubled; empty lines and those that
/// begin with `;` or `#` are skipped. No zero bytes. At most 100 faults are kept.
///
/// Works in place: doubled quotes become single ones in `text`, which must outlive the result.
[[nodiscard]] QuotedPairs parse_quoted_pairs(std::span<char> text, const PairWords& words);

}  // namespace pgb

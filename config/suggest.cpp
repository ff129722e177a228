#include "config/suggest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pgb::config {
namespace {

// No key or word is nearly this long; a longer one is no typing mistake and would only cost time.
constexpr std::size_t kWordMax = 40;

std::string folded(std::string_view word) {
    std::string result(word);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c == '-') c = '_';
    }
    return result;
}

/// Optimal string alignment: Levenshtein's distance, and a swap of neighbours counts once.
std::size_t distance(std::string_view a, std::string_view b) {
    const std::size_t width = b.size() + 1;
    std::vector<std::size_t> before(width);
    std::vector<std::size_t> last(width);
    std::vector<std::size_t> row(width);
    for (std::size_t j = 0; j < width; ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j < width; ++j) {
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

}  // namespace

std::string suggest(std::string_view word, std::span<const std::string_view> candidates) {
    if (word.empty() || word.size() > kWordMax) return {};
    const std::string wanted = folded(word);
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string result;
    for (std::string_view candidate : candidates) {
        const std::size_t now = distance(wanted, folded(candidate));
        // A candidate of which nothing is left is not what was meant.
        if (now >= best || now >= candidate.size()) continue;
        best = now;
        result = candidate;
    }
    return result;
}

}  // namespace pgb::config

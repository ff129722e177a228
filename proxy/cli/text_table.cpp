#include "proxy/cli/text_table.h"

#include <algorithm>

namespace pgb {

namespace {

constexpr std::size_t kGap = 2;
// Of the last column something must be left, or it is not worth its place.
constexpr std::size_t kLastMin = 12;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t widest_of(const TextColumn& column) {
    std::size_t widest = width_of(column.title);
    for (const std::string& cell : column.cells) widest = std::max(widest, width_of(cell));
    return widest;
}

std::size_t needed(const std::vector<TextColumn>& columns) {
    std::size_t all = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::size_t width = widest_of(columns[i]);
        const bool is_last = i + 1 == columns.size();
        all += is_last ? std::min(width, kLastMin) : width + kGap;
    }
    return all;
}

void append(std::string& line, const std::string& cell, std::size_t width, bool to_the_right) {
    const std::size_t pad = width - std::min(width, width_of(cell));
    if (to_the_right) line.append(pad, ' ');
    line += cell;
    if (!to_the_right) line.append(pad, ' ');
}

}  // namespace

std::string drawable(std::string_view text, std::size_t width) {
    std::string result;
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (!is_continuation(c)) {
            if (drawn == width) {
                // The last one gives way to the mark.
                while (!result.empty() && is_continuation(result.back())) result.pop_back();
                if (!result.empty()) result.back() = '~';
                return result;
            }
            ++drawn;
        }
        const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
        // U+0080 to U+009F are control characters, too: 0xc2 and a continuation below 0xa0.
        const bool is_late_control =
            c == '\xc2' && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (is_late_control) ++i;
        result += is_control || is_late_control ? '?' : c;
    }
    return result;
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::vector<std::string> lay_out(std::vector<TextColumn> columns, std::size_t width) {
    while (columns.size() > 1 && needed(columns) > width) {
        columns.erase(std::min_element(
            columns.begin(), columns.end(),
            [](const TextColumn& a, const TextColumn& b) { return a.worth < b.worth; }));
    }
    std::vector<std::string> lines(columns.front().cells.size() + 1);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const TextColumn& column = columns[i];
        const bool is_last = i + 1 == columns.size();
        const std::size_t wide = widest_of(column);
        for (std::size_t row = 0; row < lines.size(); ++row) {
            const std::string& cell = row == 0 ? column.title : column.cells[row - 1];
            if (is_last && !column.to_the_right) {
                lines[row] += cell;
            } else {
                append(lines[row], cell, wide, column.to_the_right);
            }
            if (!is_last) lines[row].append(kGap, ' ');
        }
    }
    for (std::string& line : lines) line = drawable(line, width);
    return lines;
}

}  // namespace pgb

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pgb {

/// Text as it may be drawn: control characters are `?`, cut to so many characters with `~` at the cut.
[[nodiscard]] std::string drawable(std::string_view text, std::size_t width);
/// In characters, not bytes; all of them count as one column.
[[nodiscard]] std::size_t width_of(std::string_view text);

/// A column of a table for a terminal.
struct TextColumn {
    std::string title;
    std::vector<std::string> cells;
    int worth = 0;  ///< The lowest goes first where there is no room.
    bool to_the_right = false;
};

/// Lines of at most `width` characters: the titles, then a line for each cell of the first column.
/// Columns are left out until the others fit; the last of them may be cut.
[[nodiscard]] std::vector<std::string> lay_out(std::vector<TextColumn> columns, std::size_t width);

}  // namespace pgb

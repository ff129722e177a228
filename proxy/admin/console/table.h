#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pgb {

/// What the console's tables are made of: every driver can read these three, as text and in binary.
enum class ColumnType : std::uint8_t { text, int8, float8 };

/// `name` has static storage.
struct Column {
    std::string_view name;
    ColumnType type = ColumnType::text;
};
using Columns = std::span<const Column>;

/// The alternative is that of its column's type, or nothing: NULL.
using Cell = std::variant<std::monostate, std::string, std::int64_t, double>;
using Row = std::vector<Cell>;

/// In which form the values go out, as a Bind says it (manual, "Bind").
struct ResultFormats {
    /// None: all as text. One: all alike. Else one for each column.
    std::vector<bool> is_binary = {};

    [[nodiscard]] bool binary(std::size_t column) const {
        if (is_binary.empty()) return false;
        return is_binary.size() == 1 ? is_binary[0] : is_binary[column];
    }
    [[nodiscard]] bool fits(std::size_t column_count) const {
        return is_binary.size() <= 1 || is_binary.size() == column_count;
    }
};

void append_row_description(std::string& out, Columns columns, const ResultFormats& formats);
void append_data_row(std::string& out, const Row& row, const ResultFormats& formats);

/// What a client said of itself, for a cell and a terminal: control characters and what is no UTF-8
/// are `?`, and of more than `limit` bytes the end is `...`.
[[nodiscard]] std::string shown(std::string_view text, std::size_t limit = 63);

}  // namespace pgb

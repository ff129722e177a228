#pragma once

#include <string>
#include <string_view>

#include "protocol/sql_scanner.h"

namespace pgb {

/// As PostgreSQL folds what has no quotes: ASCII letters alone.
[[nodiscard]] constexpr char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] std::string lower_case(std::string_view text);

/// A text in any case against one in lower case.
[[nodiscard]] bool is_in_any_case(std::string_view written, std::string_view lower);

/// A text between quotes of either kind without them; within, each stands twice.
[[nodiscard]] std::string unquoted(std::string_view written);

/// The name that PostgreSQL looks up for one written in SQL: without its quotes, else in lower case.
[[nodiscard]] std::string looked_up_name(std::string_view written);

/// A name that PostgreSQL takes as it stands wherever its grammar says ColId: neither reserved,
/// nor so long that it would be cut with a notice that only the server should send, nor with
/// bytes above 0x7f, which another encoding than the server's may not have.
[[nodiscard]] bool is_plain_name(const SqlToken& token);

/// A '...' literal of ASCII bytes without a backslash: it means itself under all settings.
[[nodiscard]] bool is_plain_literal(const SqlToken& token);

}  // namespace pgb

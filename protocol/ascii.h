#pragma once

namespace pgb {

/// C's isspace() and isdigit() in the locale "C", which is the server's when it reads such bytes.
[[nodiscard]] constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace pgb

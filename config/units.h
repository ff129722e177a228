#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "config/findings.h"

namespace pgb::config {

using Amount = std::variant<std::uint64_t, Problem>;

/// A whole number without sign, unit or leading `+`.
[[nodiscard]] Amount parse_count(std::string_view text);
/// `250ms` in nanoseconds; units us, ms, s, m, h; a bare 0 needs none.
[[nodiscard]] Amount parse_duration(std::string_view text);
/// `64KiB` in bytes; units B, KiB, MiB, GiB; a bare 0 needs none.
[[nodiscard]] Amount parse_size(std::string_view text);
/// `0770`: permission bits, at most 0777.
[[nodiscard]] Amount parse_octal(std::string_view text);

/// `250ms`, `1h`, `0`: the largest unit that leaves a whole number. Below a microsecond: cut off.
[[nodiscard]] std::string show_duration(std::uint64_t nanoseconds);
/// `64KiB`, `0`.
[[nodiscard]] std::string show_size(std::uint64_t bytes);
/// `0770`.
[[nodiscard]] std::string show_octal(std::uint32_t bits);

}  // namespace pgb::config

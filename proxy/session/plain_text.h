#pragma once

#include <string_view>

namespace pgb {

/// Whether a text is a single SELECT, INSERT, UPDATE or DELETE without a call, a literal, a comment,
/// and without the words TEMP and pg_settings: most of all traffic, told by one look at each byte.
/// False says nothing.
[[nodiscard]] bool is_plain_text(std::string_view text);

}  // namespace pgb

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pgb {

/// Base64 with padding and without line breaks (RFC 4648, section 4), as SCRAM's messages have it.
[[nodiscard]] std::string encode_base64(std::string_view bytes);

/// Nothing for a text that encode_base64() of PostgreSQL could not have written: another character,
/// a blank, padding in the wrong place or none. Bits that padding leaves over are not looked at.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace pgb

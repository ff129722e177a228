#pragma once

#include "protocol/sql_scanner.h"

namespace pgb {

/// A name that PostgreSQL takes as it stands wherever its grammar says ColId: neither reserved,
/// nor so long that it would be cut with a notice that only the server should send, nor with
/// bytes above 0x7f, which another encoding than the server's may not have.
[[nodiscard]] bool is_plain_name(const SqlToken& token);

/// A '...' literal of ASCII bytes without a backslash: it means itself under all settings.
[[nodiscard]] bool is_plain_literal(const SqlToken& token);

}  // namespace pgb

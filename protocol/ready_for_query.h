#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pgb {

/// The status byte of ReadyForQuery: the only word on when a transaction has ended
/// ("Message Formats", ReadyForQuery).
enum class TransactionStatus : char {
    idle = 'I',      ///< not in a transaction block
    in_block = 'T',  ///< in a transaction block
    failed = 'E',    ///< in a failed block: statements are refused until it ends
};

void append_ready_for_query(std::string& out, TransactionStatus status);

/// The status in a ReadyForQuery's body; nothing when the body is not one known byte.
[[nodiscard]] std::optional<TransactionStatus> parse_ready_for_query(std::string_view body);

}  // namespace pgb

#pragma once

#include <string_view>

namespace pgb {

/// Whether `word (` calls nothing that could change a session's state: a keyword, a type, or a
/// function of pg_catalog that is known to be harmless. Any case; without quotes.
[[nodiscard]] bool is_harmless_before_parenthesis(std::string_view word);

}  // namespace pgb

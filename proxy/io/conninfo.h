#pragma once

#include <string>
#include <string_view>

namespace pgb {

/// What a libpq connection string or URI itself says for a keyword; empty when it does not name it
/// or can't be read. Services and PG* variables are not asked: they are defaults, not a choice.
[[nodiscard]] std::string conninfo_value(const std::string& conninfo, std::string_view keyword);

}  // namespace pgb

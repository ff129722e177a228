#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pgb {

// The texts that drivers, frameworks and pools send by themselves, as they stand in their sources.
// How they are blanked is of no account (housekeeping_texts.cpp), so neither is it here.

/// asyncpg_texts.cpp
[[nodiscard]] std::vector<std::string> asyncpg_type_queries();
/// npgsql_texts.cpp
[[nodiscard]] std::string_view npgsql_type_query();

}  // namespace pgb

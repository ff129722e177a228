#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pgb {

/// A statement that is about a prepared statement, by name.
struct StatementTarget {
    enum class Kind : std::uint8_t {
        none,
        prepare,
        execute,
        deallocate,
        deallocate_all,
        discard_all,
    };
    Kind kind = Kind::none;
    std::string name;    ///< as PostgreSQL would keep it: folded or unquoted; of the first three
    bool alone = false;  ///< nothing is behind the name or ALL
};

/// Reads the first statement of a text, if it begins with it: PREPARE name, EXECUTE name, DEALLOCATE [PREPARE] name or
/// ALL, DISCARD ALL. `none` for anything else.
[[nodiscard]] StatementTarget read_statement_target(std::string_view text);

/// The names that a text executes or drops elsewhere: in a later statement, or inside EXPLAIN or
/// CREATE TABLE AS. May have more than PostgreSQL would look for.
[[nodiscard]] std::vector<std::string> read_later_targets(std::string_view text);

}  // namespace pgb

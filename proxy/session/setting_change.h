#pragma once

#include <cstdint>
#include <string>

namespace pgb {

/// What one statement does to a session's settings when it is executed and kept.
struct SettingChange {
    enum class Kind : std::uint8_t {
        set,          ///< `name` has the value that `text` gives it
        reset,        ///< RESET name, SET name TO DEFAULT
        reset_all,    ///< RESET ALL: identity and role stay
        discard_all,  ///< nothing is left
    };

    Kind kind = Kind::set;
    /// As PostgreSQL looks it up: lower case, `role`, `timezone` for SET TIME ZONE.
    std::string name;
    /// Of `set`: a statement that gives the name its value again, written by the proxy itself from
    /// what the grammar understood, so that it is one statement and says nothing else.
    std::string text;
};

}  // namespace pgb

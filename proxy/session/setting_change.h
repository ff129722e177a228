#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

/// A setting as PostgreSQL looks it up, which finds some by their former names, too.
[[nodiscard]] std::string setting_name(std::string_view written);

/// False for settings that are none: a seed is state of a generator, others end with the
/// transaction. `setting` is from setting_name().
[[nodiscard]] bool can_be_followed(std::string_view setting);

/// A literal that means the same under all settings.
[[nodiscard]] std::string quoted_literal(std::string_view value);

/// What `set_config(setting, value, false)` does; `setting` is from setting_name().
[[nodiscard]] SettingChange set_config_change(std::string setting, std::string_view value);

}  // namespace pgb

#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pgb {

/// The size of what is drawn on, and whether it knows colours.
struct Terminal {
    std::size_t width = 100;
    std::size_t height = 40;
    bool colours = false;
};

/// What `pgbulkhead top` draws: lines of at most `width` characters, from the JSON of
/// /api/v1/state. Columns that find no room are left out, the least telling first. `before`: the state
/// a while ago, for how fast refusals grow; empty: there is none. Whatever clients call themselves, no
/// control character is drawn. Nothing: this is no state of a proxy. Pure.
[[nodiscard]] std::optional<std::string> draw_top(const std::string& state,
                                                  const std::string& before,
                                                  const Terminal& terminal);

}  // namespace pgb

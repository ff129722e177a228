#pragma once

#include <optional>
#include <string_view>

namespace pgb {

/// A parameter as a Bind supplies it.
struct BoundValue {
    bool is_null = false;
    bool is_binary = false;
    std::string_view bytes;
};

/// The parameter of that number, counted from 1 as in `$1`. `body` is that of a whole, well formed
/// Bind, and the result lives as long. Nothing: the Bind has no such parameter, or no format for it.
[[nodiscard]] std::optional<BoundValue> bound_value(std::string_view body, unsigned number);

}  // namespace pgb

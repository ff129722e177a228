#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pgb {

/// The value of a variable of the environment, which forgets it: it was meant for this process alone.
/// Only while there is one thread.
[[nodiscard]] std::optional<std::string> take_variable(const char* name);

/// The same, of one whose value is a decimal number and nothing else.
[[nodiscard]] std::optional<std::int64_t> take_number(const char* name);

}  // namespace pgb

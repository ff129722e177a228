#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "config/findings.h"
#include "config/yaml.h"

namespace pgb::config {

/// Replaces `${NAME}` and `${NAME:-default}` in the text of one value; the default also stands in
/// for a variable that is set and empty. `$${` is a plain `${`. What a variable holds is taken as it
/// is: it can change neither the structure of the document nor name other variables.
[[nodiscard]] std::variant<std::string, Problem> replace_variables(std::string_view text,
                                                                   const EnvLookup& env);

}  // namespace pgb::config

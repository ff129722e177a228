#pragma once

#include <string>
#include <vector>

#include "config/model.h"

namespace pgb {

/// What is wrong with the users files and user maps that the doors need, each as one line
/// `file:line:column: PGB-CFG-060: words`. Reads them, and keeps nothing.
[[nodiscard]] std::vector<std::string> auth_file_complaints(const config::Config& config);

}  // namespace pgb

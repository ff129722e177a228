#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pgb {

/// Names and values in order: a server's parameters, libpq's connection options.
using ParameterList = std::vector<std::pair<std::string, std::string>>;

}  // namespace pgb

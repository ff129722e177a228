#pragma once

#include <cstdint>

namespace pgb {

/// Raises the limit of open descriptors to what the system allows this process, and returns what
/// holds now.
std::uint64_t raise_open_files();

}  // namespace pgb

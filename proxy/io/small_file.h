#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pgb {

/// What is in a file now; nothing: it can't be read, is none, or has more than `bytes_max`. For
/// secrets that are mounted and rotate: read when they are needed, they need no watch.
[[nodiscard]] std::optional<std::string> read_small_file(const std::string& path,
                                                         std::size_t bytes_max);

}  // namespace pgb

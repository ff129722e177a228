#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pgb::config {

/// The candidate that `word` was probably meant to be, or empty: at most a third of its letters
/// wrong, missing, added or swapped with the next, case and `-`/`_` not counted.
[[nodiscard]] std::string suggest(std::string_view word,
                                  std::span<const std::string_view> candidates);

}  // namespace pgb::config

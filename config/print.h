#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/model.h"

namespace pgb::config {

enum class Secrets : std::uint8_t { masked, shown };

/// The effective configuration as a budgets file: every key, also those left at their default. With
/// Secrets::shown, load_text() of the result gives an equal Config.
[[nodiscard]] std::string print(const Config& config, Secrets secrets);

/// A conninfo, keyword form or URI, with the values of passwords replaced by `***`. Cautious with
/// what it cannot parse: from the first suspicious word on everything is masked.
[[nodiscard]] std::string mask_conninfo(std::string_view conninfo);

/// The table of every key with unit, range, default and meaning, as Markdown.
[[nodiscard]] std::string print_keys();

}  // namespace pgb::config

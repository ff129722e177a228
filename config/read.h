#pragma once

#include <string>
#include <string_view>

#include "config/findings.h"
#include "config/model.h"
#include "config/node.h"
#include "config/yaml.h"

namespace pgb::config {

/// Fills a Config from a document, key by key through the tables of keys.h. What is wrong goes to
/// `findings`, with its default left in place; where each value stands is noted there.
[[nodiscard]] Config read_config(const Node& root, const EnvLookup& env, Findings& findings);

/// The text in backquotes for a complaint: shortened, control characters shown as `?`.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace pgb::config

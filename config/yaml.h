#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/complaint.h"
#include "config/model.h"

namespace pgb::config {

/// Value of an environment variable, or nothing when it is not set.
using EnvLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// What became of a text. `config` is there when no complaint is an error; warnings may come with it.
struct Loaded {
    std::optional<Config> config;
    Complaints complaints;
};

/// Reads a whole budgets file: syntax, every key, `${NAME}`, the rules across keys. Never throws;
/// time and memory are bounded by the limits of node.h. `file` is only what complaints call it.
/// All mistakes are reported at once.
[[nodiscard]] Loaded load_text(std::string_view text, std::string_view file, const EnvLookup& env);

/// The same for the file at `path`; one that cannot be read is a complaint.
[[nodiscard]] Loaded load_file(const std::string& path, const EnvLookup& env);

/// What serves without a file: the text of embedded.h through load_text(). It has no complaints.
[[nodiscard]] Config default_config(const EnvLookup& env);

}  // namespace pgb::config

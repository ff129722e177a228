#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml.h"

namespace pgb::config::test {

/// The smallest useful file; most files under test are this with something more or less.
inline constexpr std::string_view kSmallest = "workloads: [{name: default, concurrency: 8}]\n";

/// An environment with SET=value, EMPTY= and nothing else.
inline std::optional<std::string> small_env(std::string_view name) {
    if (name == "SET") return "value";
    if (name == "EMPTY") return "";
    return std::nullopt;
}

inline Loaded load(std::string_view text) { return load_text(text, "f", small_env); }

inline std::vector<std::string> complaint_lines(const Loaded& loaded) {
    std::vector<std::string> lines;
    for (const Complaint& complaint : loaded.complaints) lines.push_back(complaint.text());
    return lines;
}

inline std::string read_source(const std::string& path) {
    std::ifstream stream(std::string(PGB_SOURCE_DIR) + "/" + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_source(const std::string& path, const std::string& text) {
    std::ofstream(std::string(PGB_SOURCE_DIR) + "/" + path, std::ios::binary) << text;
}

inline std::string joined(const std::vector<std::string>& lines) {
    std::string result;
    for (const std::string& line : lines) result += line + "\n";
    return result;
}

}  // namespace pgb::config::test

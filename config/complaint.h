#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pgb::config {

enum class Severity : std::uint8_t { error, warning };

/// One mistake in a budgets file, for the person who wrote it. `code` is stable across versions and
/// explained in config/README.md; words may change.
struct Complaint {
    std::string file;
    int line = 0;    // from 1; 0: the whole file
    int column = 0;  // from 1
    Severity severity = Severity::error;
    std::string code;        // PGB-CFG-nnn
    std::string words;       // never contains a conninfo
    std::string suggestion;  // what was probably meant, or empty

    /// `file:line:column: PGB-CFG-nnn: words (did you mean `x`?)`; a warning says so after its code.
    [[nodiscard]] std::string text() const;

    bool operator==(const Complaint&) const = default;
};

/// Sorted by position, then code.
using Complaints = std::vector<Complaint>;

[[nodiscard]] bool has_errors(const Complaints& complaints);

}  // namespace pgb::config

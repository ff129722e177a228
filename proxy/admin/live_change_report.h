#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proxy/admin/reload_report.h"

namespace pgb {

/// What came of an attempt to change a workload past the file.
struct LiveChangeReport {
    enum class Outcome : std::uint8_t {
        done,     ///< in force
        planned,  ///< only thought through, as was asked; nothing has changed
        unknown_workload,
        unknown_key,
        bad_value,
    };

    Outcome outcome = Outcome::done;
    std::string message = {};     ///< why it was refused, with the words of a complaint
    std::string suggestion = {};  ///< what was probably meant, or empty
    std::vector<std::string> warnings = {};
    std::vector<ReloadReport::Change> changes = {};  ///< None: all was so already.

    [[nodiscard]] bool is_refused() const {
        return outcome != Outcome::done && outcome != Outcome::planned;
    }
};

}  // namespace pgb

#pragma once

#include <string>
#include <vector>

#include "config/keys.h"
#include "config/model.h"

namespace pgb::config {

/// A key whose value in the file is another than the one in force, or an entry that only one of them
/// has. Values are as the file writes them, with passwords masked.
struct Change {
    std::string path;    // `drain.timeout`, `workloads[reports].queue`, `databases[*]`, `workloads`
    std::string before;  // `none`: there was no such entry
    std::string after;   // `none`: there is none any more
    Reload reload = Reload::restart;

    /// `path: before -> after`
    [[nodiscard]] std::string text() const { return path + ": " + before + " -> " + after; }
    bool operator==(const Change&) const = default;
};

struct Difference {
    std::vector<Change> changes;  // in the order of the table of keys
    Config in_force;              // what is in force once the live ones are
};

/// What a reload of `wanted` means for a program in which `in_force` is. Entries of lists are told
/// apart by their names: a workload that has got another one was removed and added. Workloads come
/// and go live, with their order; doors and databases do not.
///
/// Where a key needs a restart `in_force` keeps what was: so the next reload says it again, until
/// the file is what is in force or the program was started anew.
[[nodiscard]] Difference diff(const Config& in_force, const Config& wanted);

}  // namespace pgb::config

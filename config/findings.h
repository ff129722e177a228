#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "config/complaint.h"
#include "config/node.h"

namespace pgb::config {

/// What is wrong with one value, before anyone knows where it stands.
struct Problem {
    std::string_view code;
    std::string words;
    std::string suggestion;
};

/// Collects complaints and knows where each value of the file stands, so that rules which see only
/// plain values can point at a line.
///
/// A value is named by its path: `workloads[0].match.user`, `databases[1].pool_size`. A path that the
/// file does not have stands where its nearest parent stands.
class Findings {
public:
    explicit Findings(std::string_view file) : file_(file) {}

    void note(const std::string& path, Position at) { positions_[path] = at; }
    [[nodiscard]] bool given(const std::string& path) const { return positions_.contains(path); }

    void add(Position at, const Problem& problem, Severity severity = Severity::error);
    void add(const std::string& path, const Problem& problem, Severity severity = Severity::error);
    void warn(const std::string& path, const Problem& problem) {
        add(path, problem, Severity::warning);
    }

    /// A rule across keys asks before it judges: false when the value, or what contains it, has an
    /// error of its own and the struct holds a default in its place.
    [[nodiscard]] bool usable(const std::string& path) const;
    void spoil(const std::string& path) { spoiled_.insert(path); }

    /// Sorted by position; leaves nothing behind.
    [[nodiscard]] Complaints take();

private:
    [[nodiscard]] Position position_of(const std::string& path) const;

    std::string file_;
    Complaints complaints_;
    std::map<std::string, Position> positions_;
    std::set<std::string> spoiled_;
};

}  // namespace pgb::config

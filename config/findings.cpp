#include "config/findings.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pgb::config {
namespace {

/// `workloads[0].match.user` -> `workloads[0].match` -> `workloads[0]` -> `workloads` -> empty.
std::string parent_of(const std::string& path) {
    const std::size_t cut = path.find_last_of(".[");
    return cut == std::string::npos ? std::string() : path.substr(0, cut);
}

}  // namespace

void Findings::add(Position at, const Problem& problem, Severity severity) {
    complaints_.push_back(Complaint{file_, at.line, at.column, severity, std::string(problem.code),
                                    problem.words, problem.suggestion});
}

void Findings::add(const std::string& path, const Problem& problem, Severity severity) {
    add(position_of(path), problem, severity);
    if (severity == Severity::error) spoil(path);
}

Position Findings::position_of(const std::string& path) const {
    for (std::string at = path; !at.empty(); at = parent_of(at)) {
        if (auto found = positions_.find(at); found != positions_.end()) return found->second;
    }
    return {};
}

bool Findings::usable(const std::string& path) const {
    for (std::string at = path; !at.empty(); at = parent_of(at)) {
        if (spoiled_.contains(at)) return false;
    }
    return true;
}

Complaints Findings::take() {
    std::stable_sort(
        complaints_.begin(), complaints_.end(), [](const Complaint& a, const Complaint& b) {
            return std::tie(a.line, a.column, a.code) < std::tie(b.line, b.column, b.code);
        });
    return std::exchange(complaints_, {});
}

}  // namespace pgb::config

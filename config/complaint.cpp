#include "config/complaint.h"

#include <algorithm>

namespace pgb::config {

std::string Complaint::text() const {
    std::string result = file;
    if (line > 0) result += ":" + std::to_string(line) + ":" + std::to_string(column);
    result += ": " + code + ": ";
    if (severity == Severity::warning) result += "warning: ";
    result += words;
    if (!suggestion.empty()) result += " (did you mean `" + suggestion + "`?)";
    return result;
}

bool has_errors(const Complaints& complaints) {
    return std::any_of(complaints.begin(), complaints.end(),
                       [](const Complaint& c) { return c.severity == Severity::error; });
}

}  // namespace pgb::config

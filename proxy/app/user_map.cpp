#include "proxy/app/user_map.h"

#include <utility>
#include <variant>

namespace pgb {

namespace {
constexpr std::string_view kGroup = "\\1";
}  // namespace

UserMap::Parsed UserMap::parse(std::span<char> text) {
    using config::Pattern;
    QuotedPairs read = parse_quoted_pairs(text, {"an outside name", "a user's name"});
    Parsed parsed{{}, std::move(read.faults)};
    for (const QuotedPair& pair : read.pairs) {
        const auto complain = [&](std::uint32_t column, std::string why) {
            parsed.faults.push_back({pair.line, column, std::move(why)});
        };
        if (pair.first.empty()) {
            complain(pair.first_column, "the outside name is empty");
        } else if (pair.first.front() != '/') {
            parsed.map.rules_.push_back(
                {std::string(pair.first), std::nullopt, std::string(pair.second)});
        } else {
            auto compiled = Pattern::compile(pair.first.substr(1), Pattern::Groups::first);
            if (const auto* fault = std::get_if<Pattern::Fault>(&compiled)) {
                complain(pair.first_column, "the regular expression: " + fault->message);
                continue;
            }
            auto& pattern = std::get<Pattern>(compiled);
            if (pair.second.find(kGroup) != std::string_view::npos && !pattern.has_group()) {
                complain(pair.second_column, "the regular expression has no group for \\1");
                continue;
            }
            parsed.map.rules_.push_back({"", std::move(pattern), std::string(pair.second)});
        }
    }
    sort_faults(parsed.faults);
    return parsed;
}

bool UserMap::allows(std::string_view outside_name, std::string_view user) const {
    for (const Rule& rule : rules_) {
        if (allows(rule, outside_name, user)) return true;
    }
    return false;
}

bool UserMap::allows(const Rule& rule, std::string_view outside_name, std::string_view user) {
    if (!rule.pattern) return rule.outside_name == outside_name && rule.user == user;
    if (!rule.pattern->matches(outside_name)) return false;
    // As PostgreSQL: the first \1 only.
    const std::size_t at = rule.user.find(kGroup);
    if (at == std::string::npos) return rule.user == user;
    std::string expected = rule.user;
    expected.replace(at, kGroup.size(), rule.pattern->first_group(outside_name).value_or(""));
    return expected == user;
}

}  // namespace pgb

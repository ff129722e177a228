#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/pattern.h"
#include "proxy/session/quoted_pairs.h"

namespace pgb {

/// Which outside name (of the operating system's user, of a certificate) may log in as which user;
/// the rules are those of PostgreSQL's pg_ident.conf, the lines
///
///     "outside name" "user"          "/regular expression" "user, in which \1 is its first group"
///
/// A regular expression is RE2's, and may match anywhere in the name.
class UserMap {
public:
    struct Parsed;
    /// Works in place, as parse_quoted_pairs(); keeps nothing of the text.
    [[nodiscard]] static Parsed parse(std::span<char> text);

    [[nodiscard]] bool allows(std::string_view outside_name, std::string_view user) const;

private:
    struct Rule {
        std::string outside_name;
        std::optional<config::Pattern> pattern;  // in place of the name
        std::string user;
    };

    [[nodiscard]] static bool allows(const Rule& rule, std::string_view outside_name,
                                     std::string_view user);
    std::vector<Rule> rules_;
};

/// The map is of use only if there are no faults.
struct UserMap::Parsed {
    UserMap map;
    std::vector<LineFault> faults;
};

}  // namespace pgb

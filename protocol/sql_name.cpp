#include "protocol/sql_name.h"

#include <algorithm>
#include <string>

namespace pgb {

namespace {

// NAMEDATALEN - 1
constexpr std::size_t kNameMax = 63;

// Words that ColId excludes: reserved words, and those usable only as function or type names.
// PostgreSQL 15's, and system_user of 16.
constexpr std::string_view kReserved =
    " "
    "all analyse analyze and any array as asc asymmetric authorization binary both case "
    "cast check collate collation column concurrently constraint create cross "
    "current_catalog current_date current_role current_schema current_time "
    "current_timestamp current_user default deferrable desc distinct do else end except "
    "false fetch for foreign freeze from full grant group having ilike in initially inner "
    "intersect into is isnull join lateral leading left like limit localtime "
    "localtimestamp natural not notnull null offset on only or order outer overlaps "
    "placing primary references returning right select session_user similar some "
    "symmetric system_user table tablesample then to trailing true union unique user "
    "using variadic verbose when where window with ";

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_reserved(std::string_view word) {
    return kReserved.find(' ' + lower_case(word) + ' ') != kReserved.npos;
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = lower_case(c);
    return result;
}

bool is_in_any_case(std::string_view written, std::string_view lower) {
    return std::equal(written.begin(), written.end(), lower.begin(), lower.end(),
                      [](char one, char other) { return lower_case(one) == other; });
}

std::string unquoted(std::string_view written) {
    std::string plain;
    for (std::size_t i = 1; i + 1 < written.size(); ++i) {
        plain += written[i];
        if (written[i] == written.front()) ++i;
    }
    return plain;
}

std::string looked_up_name(std::string_view written) {
    const bool quoted = written.size() >= 2 && written.front() == '"';
    return quoted ? unquoted(written) : lower_case(written);
}

bool is_plain_name(const SqlToken& token) {
    if (!is_ascii(token.text)) return false;
    if (token.kind == SqlTokenKind::quoted) return token.text.size() <= kNameMax + 2;
    return token.kind == SqlTokenKind::word && token.text.size() <= kNameMax &&
           !is_reserved(token.text);
}

bool is_plain_literal(const SqlToken& token) {
    return token.kind == SqlTokenKind::string && is_ascii(token.text);
}

}  // namespace pgb

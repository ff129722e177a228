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
    std::string wanted = " ";
    for (const char c : word) wanted += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    return kReserved.find(wanted + ' ') != kReserved.npos;
}

}  // namespace

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

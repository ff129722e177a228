#include "protocol/deadline_tag.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "protocol/ascii.h"
#include "protocol/query_tags.h"

namespace pgb {

namespace {

// `-12`, `150`, `149.99`; nothing: no number.
std::optional<std::int64_t> read_milliseconds(std::string_view value) {
    const bool negative = !value.empty() && value.front() == '-';
    if (negative) value.remove_prefix(1);
    const std::size_t point = value.find('.');
    const std::string_view whole = value.substr(0, point);
    const std::string_view fraction =
        point == value.npos ? std::string_view() : value.substr(point + 1);
    if (whole.empty() || (point != value.npos && fraction.empty())) return std::nullopt;
    if (!std::all_of(whole.begin(), whole.end(), is_digit)) return std::nullopt;
    if (!std::all_of(fraction.begin(), fraction.end(), is_digit)) return std::nullopt;
    if (negative) return 0;
    std::int64_t number = 0;
    for (const char digit : whole) {
        number = std::min(number * 10 + (digit - '0'), DeadlineTag::kMillisecondsMax);
    }
    return number;
}

// A dash with another before it, where a line comment would be read.
bool has_dashes(std::string_view text) {
    if (text.size() > QueryTags::kTrailingMax) {
        text.remove_prefix(text.size() - QueryTags::kTrailingMax);
    }
    for (std::size_t size = text.size(); size > 1;) {
        const void* dash = memrchr(text.data(), '-', size);
        if (dash == nullptr) return false;
        size = static_cast<std::size_t>(static_cast<const char*>(dash) - text.data());
        if (size > 0 && text[size - 1] == '-') return true;
    }
    return false;
}

}  // namespace

bool may_have_tags(std::string_view text) {
    // A blank in front of a comment, or behind it.
    if (text.empty()) return false;
    if (text.front() == '/' || is_blank(text.front())) return true;
    while (!text.empty() && text.back() == ';') text.remove_suffix(1);
    if (text.empty()) return false;
    if (text.back() == '/' || is_blank(text.back())) return true;
    return has_dashes(text);
}

DeadlineTag read_deadline_tag(std::string_view text, bool whole) {
    const std::optional<std::string> value = QueryTags(text, whole).value("deadline_ms");
    if (!value) return {};
    const std::optional<std::int64_t> milliseconds = read_milliseconds(*value);
    return {.milliseconds = milliseconds, .garbled = !milliseconds};
}

}  // namespace pgb

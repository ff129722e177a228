#include "config/units.h"

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "config/codes.h"
#include "config/read.h"

namespace pgb::config {
namespace {

struct Unit {
    std::string_view word;
    std::uint64_t factor;
};

// From small to large; show_amount() walks them backwards.
constexpr std::array<Unit, 5> kDurationUnits{Unit{"us", 1'000}, Unit{"ms", 1'000'000},
                                             Unit{"s", 1'000'000'000}, Unit{"m", 60'000'000'000},
                                             Unit{"h", 3'600'000'000'000}};
constexpr std::array<Unit, 4> kSizeUnits{Unit{"B", 1}, Unit{"KiB", 1U << 10}, Unit{"MiB", 1U << 20},
                                         Unit{"GiB", 1U << 30}};

/// What people write, and the unit that they mean.
struct Habit {
    std::string_view written;
    std::string_view meant;
};
constexpr std::array kDurationHabits{
    Habit{"sec", "s"},     Habit{"secs", "s"},  Habit{"second", "s"},  Habit{"seconds", "s"},
    Habit{"S", "s"},       Habit{"msec", "ms"}, Habit{"millis", "ms"}, Habit{"MS", "ms"},
    Habit{"usec", "us"},   Habit{"min", "m"},   Habit{"mins", "m"},    Habit{"minute", "m"},
    Habit{"minutes", "m"}, Habit{"hr", "h"},    Habit{"hour", "h"},    Habit{"hours", "h"}};
constexpr std::array kSizeHabits{Habit{"b", "B"},     Habit{"k", "KiB"},  Habit{"K", "KiB"},
                                 Habit{"kB", "KiB"},  Habit{"KB", "KiB"}, Habit{"kb", "KiB"},
                                 Habit{"kib", "KiB"}, Habit{"m", "MiB"},  Habit{"M", "MiB"},
                                 Habit{"MB", "MiB"},  Habit{"mb", "MiB"}, Habit{"mib", "MiB"},
                                 Habit{"g", "GiB"},   Habit{"G", "GiB"},  Habit{"GB", "GiB"},
                                 Habit{"gb", "GiB"},  Habit{"gib", "GiB"}};

struct Kind {
    std::string_view what;      // "a duration"
    std::string_view example;   // "250ms"
    std::string_view units;     // "us, ms, s, m or h"
    std::string_view fallback;  // the unit that is proposed where none was written
    std::span<const Unit> table;
    std::span<const Habit> habits;
};

constexpr Kind kDuration{"a duration", "250ms",        "us, ms, s, m or h",
                         "ms",         kDurationUnits, kDurationHabits};
constexpr Kind kSize{"a size", "64KiB", "B, KiB, MiB or GiB", "B", kSizeUnits, kSizeHabits};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digit_count(std::string_view text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) ++count;
    return count;
}

std::optional<std::uint64_t> number_of(std::string_view digits, unsigned base) {
    std::uint64_t value = 0;
    for (char c : digits) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (digit >= base) return std::nullopt;
        if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / base) return std::nullopt;
        value = value * base + digit;
    }
    return value;
}

Problem wrong_type(std::string_view text, std::string_view what, std::string_view example) {
    return {
        code::kWrongType,
        "takes " + std::string(what) + " such as " + std::string(example) + ", not " + quote(text),
        ""};
}

Problem too_large(std::string_view text) {
    return {code::kRange, quote(text) + " is larger than any value here may be", ""};
}

/// Nothing, or the one mistake that numbers of every kind share.
std::optional<Problem> judge_sign(std::string_view text) {
    if (text.size() > 1 && text[0] == '-' && is_digit(text[1])) {
        return Problem{code::kRange, quote(text) + " is negative", ""};
    }
    return std::nullopt;
}

Problem unit_problem(const Kind& kind, std::string_view text, std::string_view digits,
                     std::string_view unit) {
    if (unit.empty()) {
        return {code::kUnit, quote(text) + " lacks its unit (" + std::string(kind.units) + ")",
                std::string(digits) + std::string(kind.fallback)};
    }
    if (unit[0] == '.' && unit.size() > 1 && is_digit(unit[1])) {
        return {code::kMalformed, quote(text) + " is not whole: write it in a smaller unit", ""};
    }
    Problem problem{code::kUnit, quote(text) + " has no unit of " + std::string(kind.units), ""};
    for (const Unit& known : kind.table) {
        // A known unit here had a blank before it.
        if (known.word == unit) problem.suggestion = std::string(digits) + std::string(unit);
    }
    for (const Habit& habit : kind.habits) {
        if (habit.written == unit) {
            problem.suggestion = std::string(digits) + std::string(habit.meant);
        }
    }
    if (unit == "d" && &kind == &kDuration && digits.size() < 6) {
        problem.suggestion = std::to_string(24 * number_of(digits, 10).value_or(0)) + "h";
    }
    return problem;
}

Amount parse_amount(const Kind& kind, std::string_view text) {
    if (auto problem = judge_sign(text)) return *problem;
    const std::size_t count = digit_count(text);
    if (count == 0) return wrong_type(text, kind.what, kind.example);
    const std::string_view digits = text.substr(0, count);
    std::string_view unit = text.substr(count);
    const std::optional<std::uint64_t> value = number_of(digits, 10);
    if (!value) return too_large(text);
    if (*value == 0 && unit.empty()) return *value;
    for (const Unit& known : kind.table) {
        if (known.word != unit) continue;
        if (*value > std::numeric_limits<std::uint64_t>::max() / known.factor)
            return too_large(text);
        return *value * known.factor;
    }
    while (!unit.empty() && unit[0] == ' ') unit.remove_prefix(1);
    return unit_problem(kind, text, digits, unit);
}

std::string show_amount(std::span<const Unit> units, std::uint64_t value) {
    if (value == 0) return "0";
    for (std::size_t i = units.size(); i-- > 0;) {
        if (value % units[i].factor == 0) {
            return std::to_string(value / units[i].factor) + std::string(units[i].word);
        }
    }
    return std::to_string(value / units[0].factor) + std::string(units[0].word);
}

}  // namespace

Amount parse_count(std::string_view text) {
    if (auto problem = judge_sign(text)) return *problem;
    if (text.empty() || digit_count(text) != text.size()) {
        return wrong_type(text, "a whole number", "16");
    }
    const std::optional<std::uint64_t> value = number_of(text, 10);
    if (!value) return too_large(text);
    return *value;
}

Amount parse_duration(std::string_view text) { return parse_amount(kDuration, text); }
Amount parse_size(std::string_view text) { return parse_amount(kSize, text); }

Amount parse_octal(std::string_view text) {
    const std::optional<std::uint64_t> value =
        !text.empty() && digit_count(text) == text.size() ? number_of(text, 8) : std::nullopt;
    if (!value) return wrong_type(text, "octal permission bits", "\"0770\"");
    return *value;
}

std::string show_duration(std::uint64_t nanoseconds) {
    return show_amount(kDurationUnits, nanoseconds);
}
std::string show_size(std::uint64_t bytes) { return show_amount(kSizeUnits, bytes); }

std::string show_octal(std::uint32_t bits) {
    std::string result;
    for (unsigned shift : {9U, 6U, 3U, 0U}) {
        result += static_cast<char>('0' + ((bits >> shift) & 7U));
    }
    return result;
}

}  // namespace pgb::config

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pgb {

/// What a statement's comments say of the time that its transaction has left: the tag
/// `deadline_ms` (query_tags.h has the places and forms).
struct DeadlineTag {
    /// The longest that is told apart; whoever has longer has this.
    static constexpr std::int64_t kMillisecondsMax = std::int64_t{720} * 3600 * 1000;

    /// Nothing: there is no such tag, or its value is no number. A fraction is dropped. 0 and what
    /// is below: the time is over.
    std::optional<std::int64_t> milliseconds;
    /// There is such a tag, and its value is no number.
    bool garbled = false;
};

/// The tag of a text that may_have_tags() says yes to.
[[nodiscard]] DeadlineTag read_deadline_tag(std::string_view text, bool whole);

/// Whether a comment may stand where tags are read. Says no to nearly every text without one, and
/// costs a look at its ends and, for a line comment, at its dashes.
[[nodiscard]] bool may_have_tags(std::string_view text);

/// The tag of any text; `whole` false: its end is missing.
[[nodiscard]] inline DeadlineTag deadline_tag(std::string_view text, bool whole = true) {
    return may_have_tags(text) ? read_deadline_tag(text, whole) : DeadlineTag{};
}

}  // namespace pgb

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace re2 {
class RE2;
}

namespace pgb::config {

/// A regular expression of RE2 on a statement's text: a match costs time linear in the text and so
/// much memory at most, whatever the pattern. It may match anywhere in the text; `^` and `$` are its
/// ends, `.` matches no newline unless the pattern says (?s).
class Pattern {
public:
    /// Of one pattern, its program and the automata that matching makes. RE2's own default is eight
    /// times that, for patterns of thousands of words.
    static constexpr std::size_t kMemoryMax = std::size_t{1} << 20;
    static constexpr std::size_t kPatternMax = 4096;

    /// What is wrong with a pattern, and where.
    struct Fault {
        std::string message;
        std::size_t offset = 0;  ///< in bytes, from 0; the pattern's length if it is about its end
    };
    /// What stands in parentheses is of no interest, or the first of them is.
    enum class Groups { none, first };
    [[nodiscard]] static std::variant<Pattern, Fault> compile(std::string_view pattern,
                                                              Groups groups = Groups::none);

    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    [[nodiscard]] bool matches(std::string_view text) const;
    /// Compiled with Groups::first: whether the pattern has a group, and what it matches in a text
    /// that the pattern matches.
    [[nodiscard]] bool has_group() const;
    [[nodiscard]] std::optional<std::string> first_group(std::string_view text) const;

private:
    explicit Pattern(std::unique_ptr<re2::RE2> compiled);
    std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace pgb::config

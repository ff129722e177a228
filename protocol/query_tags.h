#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pgb {

/// The tags that a program or its libraries have put into the comments of a statement:
///
///     SELECT … /*action='list',route='%2Fcart'*/    sqlcommenter
///     SELECT … /*application:Shop,controller:cart*/ older Rails, marginalia
///     SELECT … -- model:Album,method_type:first     Sequel
///
/// One block comment at the beginning of the text is looked at, and at its end, before any `;`, one
/// block comment or line comment. No lexer: a text that ends in `*/` ends in a comment, and what a
/// literal has behind a `--` ends in a quote, which is no tag. A comment of which any part is not a
/// pair is prose and has no tags; so is one with another comment inside.
///
/// What quotes enclose is decoded as its emitters encode it: `%%` for `%` (of libraries that write
/// for a formatting driver), `\'`, percent-encoding, and `+` for a blank. The older form is taken as
/// it stands.
///
/// The end of the text wins over its beginning, and the first pair of a key over a later one. Reads
/// the first kLeadingMax and the last kTrailingMax bytes at most, and allocates nothing but the
/// strings that it hands out. Views of the text: it must outlive this.
class QueryTags {
public:
    static constexpr std::size_t kLeadingMax = 1024;
    static constexpr std::size_t kTrailingMax = 2048;
    static constexpr std::size_t kPairsMax = 32;    ///< of one comment; further ones are not seen
    static constexpr std::size_t kKeyMax = 64;      ///< as written; a longer pair is not seen
    static constexpr std::size_t kValueMax = 1024;  ///< the same

    /// `whole` false: the end of the text is missing, and with it the tags there.
    explicit QueryTags(std::string_view text, bool whole = true);

    /// No comment with tags.
    [[nodiscard]] bool empty() const { return comments_[0].empty() && comments_[1].empty(); }
    /// The value of a key; nothing: there is no such key.
    [[nodiscard]] std::optional<std::string> value(std::string_view key) const;
    /// Whether the key has this value.
    [[nodiscard]] bool has(std::string_view key, std::string_view value) const;

private:
    // What stands in the comments, the one at the end first; empty: no pairs, or no comment.
    std::array<std::string_view, 2> comments_;
};

/// What QueryTags reads of a text, and nothing else of it: for a statement whose text is not kept.
/// Has the same tags; at most a little longer than both limits together.
[[nodiscard]] std::string tag_comments(std::string_view text, bool whole = true);

}  // namespace pgb

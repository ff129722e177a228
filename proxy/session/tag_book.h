#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pgb {

/// The comments with tags of prepared statements whose texts are not kept: those that a session
/// makes under its own names on a backend that it keeps, and an unnamed one too long to be made
/// again (its name is empty). Statements without tags are not in it. What does not fit any more
/// begins an empty book: a statement without its tags falls under the other rules.
class TagBook {
public:
    static constexpr std::size_t kNamesMax = 256;

    /// A statement of that name was parsed; `comments` may be empty.
    void note(std::string_view name, std::string comments) {
        std::erase_if(entries_, [name](const Entry& entry) { return entry.first == name; });
        if (comments.empty()) return;
        if (entries_.size() >= kNamesMax) entries_.clear();
        entries_.emplace_back(name, std::move(comments));
    }
    [[nodiscard]] bool empty() const { return entries_.empty(); }
    /// Empty: none are known. Valid until the next change.
    [[nodiscard]] std::string_view comments_of(std::string_view name) const {
        for (const Entry& entry : entries_) {
            if (entry.first == name) return entry.second;
        }
        return {};
    }

private:
    using Entry = std::pair<std::string, std::string>;
    std::vector<Entry> entries_;
};

}  // namespace pgb

#include "config/pattern.h"

#include <re2/re2.h>

#include <utility>

namespace pgb::config {

Pattern::Pattern(std::unique_ptr<re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

std::variant<Pattern, Pattern::Fault> Pattern::compile(std::string_view pattern, Groups groups) {
    if (pattern.size() > kPatternMax) {
        return Fault{"is longer than " + std::to_string(kPatternMax) + " bytes", kPatternMax};
    }
    RE2::Options options;
    options.set_max_mem(static_cast<std::int64_t>(kMemoryMax));
    options.set_log_errors(false);
    options.set_never_capture(groups == Groups::none);
    auto compiled =
        std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
    if (compiled->ok()) return Pattern(std::move(compiled));
    // RE2 names the piece that it could not read; its first place is where it stumbled, or before.
    const std::size_t found = pattern.find(compiled->error_arg());
    const bool told = !compiled->error_arg().empty() && found != std::string_view::npos;
    return Fault{compiled->error(), told ? found : pattern.size()};
}

bool Pattern::matches(std::string_view text) const {
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

bool Pattern::has_group() const { return compiled_->NumberOfCapturingGroups() > 0; }

std::optional<std::string> Pattern::first_group(std::string_view text) const {
    std::string group;
    if (!RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_, &group)) {
        return std::nullopt;
    }
    return group;
}

}  // namespace pgb::config

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/findings.h"
#include "config/keys.h"

namespace pgb::config {

/// Reads `text` into the slot of `key`, or says what is wrong with it and leaves the slot alone.
/// Lists and maps (std::vector slots) are not texts and never come here. `quoted`: the text stood
/// in quotes, so `null` is a word and not nothing.
[[nodiscard]] std::optional<Problem> assign(const Key& key, const Slot& slot, std::string_view text,
                                            bool quoted);

/// Puts nothing into a slot that can hold it, or says that this one cannot.
[[nodiscard]] std::optional<Problem> assign_null(const Key& key, const Slot& slot);

/// The value as the file writes it on one line, texts in double quotes.
[[nodiscard]] std::string show(const Key& key, const Slot& slot);

/// The same for eyes that must see no password.
[[nodiscard]] std::string show_masked(const Key& key, const Slot& slot);

/// A key of a mapping in double quotes: variables are not replaced in keys.
[[nodiscard]] std::string show_key(std::string_view name);
/// A value in double quotes, with `${` escaped.
[[nodiscard]] std::string show_text(std::string_view text);

/// `16`, `1ms`, `64KiB`: a bound of the range of `form`.
[[nodiscard]] std::string show_bound(Form form, std::uint64_t bound);

/// Whether the value is the one that a new struct has; with it even keys of features that are not
/// built are accepted.
[[nodiscard]] bool is_default(const Section& section, const Key& key, const Slot& slot);

/// The default as the file writes it, read from a new struct of the section.
[[nodiscard]] std::string show_default(const Section& section, const Key& key);

}  // namespace pgb::config

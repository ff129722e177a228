#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proxy/session/setting_change.h"
#include "proxy/session/state_tracking_grammar.h"
#include "proxy/session/text_effect.h"

namespace pgb {

/// What a statement text does to its session, for all sessions: the lexer (text_effect.h) decides
/// alone that a text is harmless; what it flags is looked at by PostgreSQL's own grammar, once per
/// text. The grammar takes back what the lexer only feared (a list of columns that looks like a
/// call), and tells which settings a text changes, so that they can be followed instead of pinned.
///
/// A text that the grammar can't parse, that is longer than kTextMax, or that means different
/// things under different settings (a backslash in a plain literal) keeps the lexer's judgement.
///
/// The cache holds kTextsMax texts and kBytesMax bytes; the one not asked for longest goes first.
class StateTracking {
public:
    static constexpr std::size_t kTextMax = 8192;
    static constexpr std::size_t kTextsMax = 512;
    static constexpr std::size_t kBytesMax = std::size_t{1} << 20;

    StateTracking() = default;
    StateTracking(const StateTracking&) = delete;
    StateTracking& operator=(const StateTracking&) = delete;

    /// `whole` false: `text` is the beginning of a longer one.
    [[nodiscard]] TextEffect effect_of(std::string_view text, bool whole);

    /// Of a text for which effect_of() said `settings`. Valid until the next call of either.
    [[nodiscard]] const std::vector<SettingChange>& changes_of(std::string_view text);
    /// The same of one for which it said `sets_when_bound`.
    [[nodiscard]] const SetConfigCalls& calls_of(std::string_view text);

    [[nodiscard]] std::size_t cached_count() const { return entries_.size(); }

private:
    struct Entry {
        std::string text;
        GrammarVerdict verdict;
    };
    const GrammarVerdict& verdict_of(std::string_view text);
    void make_room(std::size_t bytes);

    std::list<Entry> entries_;  // the last one asked for in front
    std::unordered_map<std::string_view, std::list<Entry>::iterator> by_text_;
    std::size_t bytes_ = 0;
};

}  // namespace pgb

#include "proxy/session/state_tracking.h"

namespace pgb {

TextEffect StateTracking::effect_of(std::string_view text, bool whole) {
    TextEffect effect = pgb::effect_of(text, whole);
    const bool flagged =
        effect.of_interest || effect.resets_by_call || (effect.reasons & kPinSettings) != 0;
    if (!flagged || effect.unsure || text.size() > kTextMax) return effect;
    const GrammarVerdict& verdict = verdict_of(text);
    if (!verdict.parsed) return effect;
    if (effect.resets_by_call) effect.resets = verdict.calls;
    if (verdict.followed) {
        effect.reasons = static_cast<PinReasons>(effect.reasons & ~kPinSettings);
        effect.settings = !verdict.changes.empty();
        effect.sets_when_bound = !verdict.calls_to_bind.empty();
        effect.undoes_settings = verdict.undoes;
    } else {
        effect.reasons |= kPinSettings;
    }
    if (verdict.unlistens) effect.unpins = kPinListen;
    effect.pins = effect.reasons != 0;
    return effect;
}

const std::vector<SettingChange>& StateTracking::changes_of(std::string_view text) {
    return verdict_of(text).changes;
}

const SetConfigCalls& StateTracking::calls_of(std::string_view text) {
    return verdict_of(text).calls_to_bind;
}

const GrammarVerdict& StateTracking::verdict_of(std::string_view text) {
    if (const auto found = by_text_.find(text); found != by_text_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return entries_.front().verdict;
    }
    make_room(text.size());
    Entry& entry = entries_.emplace_front(Entry{std::string(text), {}});
    entry.verdict = judge_by_grammar(entry.text);
    bytes_ += text.size();
    by_text_.emplace(entry.text, entries_.begin());
    return entry.verdict;
}

void StateTracking::make_room(std::size_t bytes) {
    while (!entries_.empty() && (entries_.size() >= kTextsMax || bytes_ + bytes > kBytesMax)) {
        const Entry& oldest = entries_.back();
        bytes_ -= oldest.text.size();
        by_text_.erase(oldest.text);
        entries_.pop_back();
    }
}

}  // namespace pgb

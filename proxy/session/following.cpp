// What becomes of the settings that a text changes: followed until PostgreSQL has kept them or
// undone them (settings_journal.h), or, where that is not sure, a reason to keep the backend.

#include <algorithm>

#include "protocol/request.h"
#include "proxy/session/session.h"

namespace pgb {

TextEffect Session::judge(std::string_view text, bool whole) {
    if (tracking_ == nullptr) return effect_of(text, whole);
    TextEffect effect = tracking_->effect_of(text, whole);
    const bool part_of_block = effect.several && effect.transactions && !journal_.empty();
    if (!part_of_block &&
        (!effect.settings || journal_.fits(settings_, tracking_->changes_of(text)))) {
        return effect;
    }
    effect.reasons |= kPinSettings;
    effect.pins = true;
    effect.settings = effect.undoes_settings = false;
    return effect;
}

const std::vector<SettingChange>& Session::changes_of(const TextEffect& effect,
                                                      std::string_view text) {
    static const std::vector<SettingChange> kNone;
    return effect.settings ? tracking_->changes_of(text) : kNone;
}

// A backend without this session's settings is prepared for those behind the RESET, so that a
// session whose settings PostgreSQL no longer takes can still get rid of them.
void Session::aim_at_undone(std::string_view text) {
    aim_.reset();
    if (!judged_ || !judged_->undoes_settings || block_.state() != VirtualBlock::State::none)
        return;
    SettingsBook behind = settings_;
    for (const SettingChange& change : tracking_->changes_of(text)) {
        if (!behind.apply(change)) return;
    }
    aim_ = std::move(behind);
}

Session::Follow Session::may_follow(const std::vector<SettingChange>& changes) const {
    if ((pins_ & kPinSettings) != 0 || (journal_.empty() && changes.empty())) return Follow::yes;
    if (!journal_.fits(settings_, changes)) return Follow::pin;
    // The next ReadyForQuery must be the answer to this (J1).
    return ledger_.frontend_syncs() > 0 ? Follow::wait : Follow::yes;
}

void Session::follow(TransactionVerb verb, std::string_view savepoint,
                     const std::vector<SettingChange>& changes) {
    if ((pins_ & kPinSettings) != 0) return;
    for (const SettingChange& change : changes) journal_.sent(change);
    if (!journal_.empty()) journal_.sent_verb(verb, savepoint);
    // What is set behind a DISCARD ALL of the same lease is not discarded by it.
    if (std::any_of(changes.begin(), changes.end(), [](const SettingChange& change) {
            return change.kind == SettingChange::Kind::set;
        })) {
        lease_.discard_all_sent = false;
    }
}

bool Session::follow_execute(const Frame& frame, Outbox& out) {
    const ExecuteRequest execute = parse_execute(frame.body(), frame.body_is_whole());
    const StatementEffect* effect = effects_.of_portal(execute.portal);
    if (effect == nullptr) return true;
    if (effect->unknown) lease_.reset_needed = true;
    switch (may_follow(effect->changes)) {
        case Follow::wait: return false;
        case Follow::pin:
            if (!pin_reserved_) {
                out.decide(Decision::ask_pin);
                return false;
            }
            add_pins({.reasons = kPinSettings});
            return true;
        case Follow::yes: follow(effect->verb, effect->savepoint, effect->changes); return true;
    }
    return true;
}

void Session::add_pins(const TextEffect& effect) {
    pins_ |= effect.reasons;
    note_lock_text(effect);
    lease_.unpins = static_cast<PinReasons>((lease_.unpins & ~effect.reasons) | effect.unpins);
    if ((pins_ & kPinSettings) != 0) journal_.clear();
}

// Behind each ReadyForQuery while something is being followed.
void Session::settle_settings() {
    if (journal_.on_ready(status_, settings_)) book_->settings = settings_;
    if (!journal_.in_doubt()) return;
    lease_.reset_needed = true;
    journal_.clear();
}

}  // namespace pgb

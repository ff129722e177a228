#include "proxy/session/settings_journal.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pgb {

void SettingsJournal::sent(const SettingChange& change) { flight_.push_back({false, change}); }

void SettingsJournal::sent_block_end() { flight_.push_back({true, {}}); }

void SettingsJournal::on_tag(std::string_view tag) {
    if (tag == "COMMIT" || tag == "PREPARE TRANSACTION") {
        end_block(true);
    } else if (tag == "ROLLBACK") {
        end_block(false);
    }
}

// What stands in front of the end was executed in the block, and is kept or undone with it.
void SettingsJournal::end_block(bool committed) {
    auto at = flight_.begin();
    for (; at != flight_.end() && !at->block_end; ++at) block_.push_back(std::move(at->change));
    if (at == flight_.end()) {
        doubt_ = true;
        return;
    }
    flight_.erase(flight_.begin(), std::next(at));
    if (committed) std::move(block_.begin(), block_.end(), std::back_inserter(kept_));
    block_.clear();
}

bool SettingsJournal::on_ready(TransactionStatus status, SettingsBook& book) {
    if (!failed_) {
        for (Entry& entry : flight_) {
            // A statement that ended a block would have been answered by its tag.
            doubt_ = doubt_ || entry.block_end;
            if (!entry.block_end) block_.push_back(std::move(entry.change));
        }
    }
    flight_.clear();
    if (status == TransactionStatus::idle) {
        // Without an error the statements stood alone; with one, what was open is undone.
        if (!failed_) std::move(block_.begin(), block_.end(), std::back_inserter(kept_));
        block_.clear();
    }
    failed_ = false;
    const bool changed = !kept_.empty();
    for (const SettingChange& change : kept_) doubt_ = !book.apply(change) || doubt_;
    kept_.clear();
    return changed;
}

void SettingsJournal::clear() {
    flight_.clear();
    block_.clear();
    kept_.clear();
    failed_ = doubt_ = false;
}

bool SettingsJournal::fits(const SettingsBook& book,
                           const std::vector<SettingChange>& changes) const {
    SettingsBook trial = book;
    for (const SettingChange& before : block_) {
        if (!trial.apply(before)) return false;
    }
    for (const Entry& entry : flight_) {
        if (!entry.block_end && !trial.apply(entry.change)) return false;
    }
    return std::all_of(changes.begin(), changes.end(),
                       [&trial](const SettingChange& change) { return trial.apply(change); });
}

}  // namespace pgb

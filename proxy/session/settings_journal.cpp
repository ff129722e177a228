#include "proxy/session/settings_journal.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "protocol/sql_name.h"

namespace pgb {

void SettingsJournal::sent(const SettingChange& change) {
    flight_.push_back({Kind::change, change});
}

void SettingsJournal::sent_verb(TransactionVerb verb, std::string_view name) {
    switch (verb) {
        case TransactionVerb::commit:
        case TransactionVerb::end_:
        case TransactionVerb::rollback:
        case TransactionVerb::abort_:
        case TransactionVerb::commit_and_chain:
        case TransactionVerb::rollback_and_chain:
        case TransactionVerb::prepare_transaction: flight_.push_back({Kind::block_end, {}}); return;
        case TransactionVerb::savepoint:
            flight_.push_back({Kind::savepoint, {}, looked_up_name(name)});
            return;
        case TransactionVerb::release:
            flight_.push_back({Kind::release, {}, looked_up_name(name)});
            return;
        case TransactionVerb::rollback_to:
            flight_.push_back({Kind::rollback_to, {}, looked_up_name(name)});
            return;
        case TransactionVerb::none:
        case TransactionVerb::empty:
        case TransactionVerb::begin:
        case TransactionVerb::start_transaction:
        case TransactionVerb::set_transaction:
        case TransactionVerb::commit_prepared:
        case TransactionVerb::rollback_prepared: return;
    }
}

void SettingsJournal::on_tag(std::string_view tag) {
    const bool commits = tag == "COMMIT" || tag == "PREPARE TRANSACTION";
    if (!commits && tag != "ROLLBACK") return;
    const auto is_decided = [](const Entry& entry) {
        return entry.kind == Kind::block_end || entry.kind == Kind::rollback_to;
    };
    const auto at = std::find_if(flight_.begin(), flight_.end(), is_decided);
    if (at == flight_.end() || (commits && at->kind == Kind::rollback_to)) {
        doubt_ = true;
        return;
    }
    // What stands in front of it was executed.
    for (auto before = flight_.begin(); before != at; ++before) enter(std::move(*before));
    if (at->kind == Kind::block_end) {
        end_block(commits);
    } else {
        // The savepoint itself stays.
        const std::size_t kept = savepoint_at(at->name);
        block_.resize(kept == block_.size() ? 0 : kept + 1);
    }
    flight_.erase(flight_.begin(), std::next(at));
}

// The last savepoint of that name; the size of the block when it is older than the journal.
std::size_t SettingsJournal::savepoint_at(std::string_view name) const {
    for (std::size_t i = block_.size(); i > 0; --i) {
        const Entry& entry = block_[i - 1];
        if (entry.kind == Kind::savepoint && entry.name == name) return i - 1;
    }
    return block_.size();
}

// An executed statement becomes part of the block.
void SettingsJournal::enter(Entry entry) {
    if (entry.kind != Kind::release) {
        block_.push_back(std::move(entry));
        return;
    }
    // With a savepoint go all behind it, and what they would have undone stays.
    const std::size_t found = savepoint_at(entry.name);
    const std::size_t from = found == block_.size() ? 0 : found;
    const auto released =
        std::remove_if(block_.begin() + static_cast<std::ptrdiff_t>(from), block_.end(),
                       [](const Entry& inner) { return inner.kind == Kind::savepoint; });
    block_.erase(released, block_.end());
}

void SettingsJournal::keep_block() {
    for (Entry& entry : block_) {
        if (entry.kind == Kind::change) kept_.push_back(std::move(entry.change));
    }
}

void SettingsJournal::end_block(bool committed) {
    if (committed) keep_block();
    block_.clear();
}

bool SettingsJournal::on_ready(TransactionStatus status, SettingsBook& book) {
    if (!failed_) {
        for (Entry& entry : flight_) {
            // A statement that ended something would have been answered by its tag.
            const bool decided = entry.kind == Kind::block_end || entry.kind == Kind::rollback_to;
            doubt_ = doubt_ || decided;
            if (!decided) enter(std::move(entry));
        }
    }
    flight_.clear();
    if (status == TransactionStatus::idle) {
        // Without an error the statements stood alone; with one, what was open is undone.
        end_block(!failed_);
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
    for (const std::vector<Entry>* entries : {&block_, &flight_}) {
        for (const Entry& entry : *entries) {
            if (entry.kind == Kind::change && !trial.apply(entry.change)) return false;
        }
    }
    if (block_.size() + flight_.size() + changes.size() >= kEntriesMax) return false;
    return std::all_of(changes.begin(), changes.end(),
                       [&trial](const SettingChange& change) { return trial.apply(change); });
}

}  // namespace pgb

#pragma once

#include <string_view>
#include <vector>

#include "protocol/ready_for_query.h"
#include "proxy/session/setting_change.h"
#include "proxy/session/settings_book.h"

namespace pgb {

/// Changes of a session's settings that were sent to the server and are not settled: follows them
/// until PostgreSQL has kept them, or undone them with their transaction.
///
///    sent() ---------> in flight --ReadyForQuery T--> in the block --tag COMMIT--> the book
///                       |    |                         |
///       error behind it |    '--ReadyForQuery I---.    '--tag ROLLBACK--> gone
///                       v                         v
///                      gone                    the book
///
/// Only the server's words count: an error undoes what is in flight, the tags COMMIT and ROLLBACK
/// decide what the block holds. The caller sees to it that
///   J1  what is in flight is answered by the next ReadyForQuery: nothing is sent behind a sync
///       point with changes before it until it was answered;
///   J2  each statement that ends a block is announced by sent_block_end() while the journal is not
///       empty, and none that ends only a part of one (ROLLBACK TO) is sent then.
/// When the server's tags do not fit, in_doubt() says so: then the session's settings on this
/// backend are not known.
class SettingsJournal {
public:
    /// Nothing to follow: no other call is needed but sent().
    [[nodiscard]] bool empty() const {
        return flight_.empty() && block_.empty() && kept_.empty() && !doubt_;
    }
    [[nodiscard]] bool in_flight() const { return !flight_.empty(); }
    [[nodiscard]] bool in_doubt() const { return doubt_; }

    void sent(const SettingChange& change);
    /// COMMIT, ROLLBACK or PREPARE TRANSACTION, with or without a chain.
    void sent_block_end();

    /// CommandComplete, whoever asked for it.
    void on_tag(std::string_view tag);
    void on_error() { failed_ = true; }
    /// True: `book` has changed.
    bool on_ready(TransactionStatus status, SettingsBook& book);
    void clear();

    /// Whether `book` could take everything that is on its way and `changes` behind it.
    [[nodiscard]] bool fits(const SettingsBook& book,
                            const std::vector<SettingChange>& changes) const;

private:
    struct Entry {
        bool block_end = false;
        SettingChange change;
    };
    void end_block(bool committed);

    std::vector<Entry> flight_;
    std::vector<SettingChange> block_;
    std::vector<SettingChange> kept_;  // by PostgreSQL, and not yet in the book
    bool failed_ = false;              // since the last ReadyForQuery
    bool doubt_ = false;
};

}  // namespace pgb

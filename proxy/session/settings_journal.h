#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/ready_for_query.h"
#include "protocol/transaction_statement.h"
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
/// decide what the block holds. ROLLBACK TO undoes what stands behind its savepoint; one that is
/// not in the journal is older than all that is. The caller sees to it that
///   J1  what is in flight is answered by the next ReadyForQuery: nothing is sent behind a sync
///       point with changes before it until it was answered;
///   J2  each statement that ends a block or a part of one, and each SAVEPOINT, is announced by
///       sent_verb() while the journal is not empty.
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
    /// `name` is that of a savepoint, as written. Verbs that change nothing here are ignored.
    void sent_verb(TransactionVerb verb, std::string_view name);

    /// CommandComplete, whoever asked for it.
    void on_tag(std::string_view tag);
    void on_error() { failed_ = true; }
    /// True: `book` has changed.
    bool on_ready(TransactionStatus status, SettingsBook& book);
    void clear();

    /// Whether `book` could take everything that is on its way and `changes` behind it.
    [[nodiscard]] bool fits(const SettingsBook& book,
                            const std::vector<SettingChange>& changes) const;
    /// The digest of settings that a Parse depends on. What is not kept or undone yet is nobody
    /// else's.
    [[nodiscard]] std::uint64_t fingerprint(const SettingsBook& book) const {
        constexpr std::uint64_t kInDoubt = 0x9e3779b97f4a7c15;
        return empty() ? book.fingerprint() : book.fingerprint() ^ kInDoubt;
    }

private:
    enum class Kind : std::uint8_t { change, block_end, savepoint, release, rollback_to };
    struct Entry {
        Kind kind = Kind::change;
        SettingChange change;
        std::string name = {};  // of a savepoint
    };
    // More than any framework nests; what a block can make us keep is bounded.
    static constexpr std::size_t kEntriesMax = 1024;

    void enter(Entry entry);
    void end_block(bool committed);
    void keep_block();
    [[nodiscard]] std::size_t savepoint_at(std::string_view name) const;

    std::vector<Entry> flight_;
    std::vector<Entry> block_;         // changes and savepoints
    std::vector<SettingChange> kept_;  // by PostgreSQL, and not yet in the book
    bool failed_ = false;              // since the last ReadyForQuery
    bool doubt_ = false;
};

}  // namespace pgb

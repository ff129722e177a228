#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/ready_for_query.h"
#include "protocol/transaction_statement.h"
#include "proxy/base/instant.h"

namespace pgb {

/// The transaction block as the frontend sees it while no backend takes part.
///
///            BEGIN           granted: the block moves to the backend
///    none ----------> open -----------------------------------------> none
///     ^ ^              | |
///     | '--COMMIT, ----' | refused, cancelled, backend lost
///     |    ROLLBACK      v
///     '--------------- failed   (AND CHAIN: to open)
///        COMMIT, ROLLBACK
///
/// BEGIN is never refused and takes no permit: drivers send it by themselves, some pipeline it with
/// the statement behind it, and a refused BEGIN would let that statement run alone. Leading SET
/// TRANSACTION and SAVEPOINT belong to the block, too, so that the first real statement decides.
class VirtualBlock {
public:
    enum class State : std::uint8_t { none, open, failed };

    /// What became of a statement.
    enum class Outcome : std::uint8_t {
        answered,       ///< Replies were appended; ReadyForQuery is the caller's.
        refused,        ///< An ErrorResponse was appended; an extended batch skips to its Sync.
        needs_backend,  ///< Nothing was appended.
    };

    /// Whether PostgreSQL would tell this session its warnings.
    enum class Warnings : std::uint8_t { told, muted };

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] TransactionStatus status() const;
    [[nodiscard]] TransactionModes modes() const { return modes_; }
    /// When the transaction must be over, by a tag of the block's own statements.
    [[nodiscard]] Instant due() const { return due_; }
    /// One of them says so; the earliest counts.
    void finish_by(Instant due) { due_ = std::min(due_, due); }
    /// SAVEPOINT statements answered so far, as written.
    [[nodiscard]] const std::vector<std::string>& savepoints() const { return savepoints_; }

    /// Whether execute() would answer the verb here (errors included), without doing it.
    [[nodiscard]] bool is_local(const TransactionStatement& statement, std::string_view text) const;

    /// Does what PostgreSQL would do for the statement in this state.
    Outcome execute(const TransactionStatement& statement, std::string_view text, Warnings warnings,
                    std::string& out);

    /// A block that was open, or that never got to be, has failed.
    void fail();
    /// The block has moved to a backend, or the backend's block has ended.
    void leave();

private:
    Outcome execute_outside(const TransactionStatement& statement, Warnings warnings,
                            std::string& out);
    Outcome execute_open(const TransactionStatement& statement, std::string_view text,
                         Warnings warnings, std::string& out);
    Outcome execute_failed(const TransactionStatement& statement, std::string& out);
    void open(const TransactionModes& modes);
    void merge(const TransactionModes& modes);

    // The issue is bounded memory: more savepoints than a nested framework opens before its first
    // statement, and longer names than a driver makes, go to the backend like any statement.
    static constexpr std::size_t kSavepointMax = 8;
    static constexpr std::size_t kSavepointTextMax = 256;

    State state_ = State::none;
    TransactionModes modes_;
    Instant due_ = Instant::never();
    std::vector<std::string> savepoints_;
};

/// ERROR 25P02, PostgreSQL's answer to any statement in a failed block.
void append_in_failed_block(std::string& out);

}  // namespace pgb

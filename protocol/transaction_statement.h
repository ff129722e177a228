#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pgb {

enum class IsolationLevel : std::uint8_t {
    unset,  ///< default_transaction_isolation decides
    read_uncommitted,
    read_committed,
    repeatable_read,
    serializable,
};
enum class Access : std::uint8_t { unset, read_only, read_write };
enum class Deferrability : std::uint8_t { unset, deferrable, not_deferrable };

/// The modes of BEGIN, START TRANSACTION and SET TRANSACTION (manual, SET TRANSACTION). A mode
/// given twice counts as PostgreSQL counts it: the last one holds.
struct TransactionModes {
    IsolationLevel isolation = IsolationLevel::unset;
    Access access = Access::unset;
    Deferrability deferrability = Deferrability::unset;

    /// Number of different values; index() is below it.
    static constexpr std::uint8_t kCount = 45;

    bool operator==(const TransactionModes&) const = default;
    /// A dense number; 0 when nothing is set.
    [[nodiscard]] std::uint8_t index() const;
    /// The inverse of index(); `index` must be below kCount.
    [[nodiscard]] static TransactionModes from_index(std::uint8_t index);
    /// "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE"
    [[nodiscard]] std::string begin_text() const;
};

enum class TransactionVerb : std::uint8_t {
    none,                 ///< any other statement, several statements, or not surely legal
    empty,                ///< blanks, comments and semicolons only: EmptyQueryResponse
    begin,                ///< tag BEGIN
    start_transaction,    ///< tag START TRANSACTION
    commit,               ///< COMMIT [WORK|TRANSACTION] [AND NO CHAIN]; tag COMMIT
    end_,                 ///< END, the same; tag COMMIT
    rollback,             ///< ROLLBACK [WORK|TRANSACTION] [AND NO CHAIN]; tag ROLLBACK
    abort_,               ///< ABORT, the same; tag ROLLBACK
    commit_and_chain,     ///< COMMIT or END with AND CHAIN: a new block with the same modes follows
    rollback_and_chain,   ///< ROLLBACK or ABORT with AND CHAIN
    savepoint,            ///< tag SAVEPOINT
    release,              ///< RELEASE [SAVEPOINT] name; tag RELEASE
    rollback_to,          ///< ROLLBACK [WORK|TRANSACTION] TO [SAVEPOINT] name; tag ROLLBACK
    set_transaction,      ///< SET TRANSACTION modes, not ... SNAPSHOT; tag SET
    prepare_transaction,  ///< tag PREPARE TRANSACTION
    commit_prepared,      ///< tag COMMIT PREPARED
    rollback_prepared,    ///< tag ROLLBACK PREPARED
};

/// BEGIN or START TRANSACTION.
[[nodiscard]] constexpr bool begins_block(TransactionVerb verb) {
    return verb == TransactionVerb::begin || verb == TransactionVerb::start_transaction;
}

/// COMMIT in any form, two-phase included: from its first byte on a cancel could only lie.
[[nodiscard]] constexpr bool commits(TransactionVerb verb) {
    return verb == TransactionVerb::commit || verb == TransactionVerb::end_ ||
           verb == TransactionVerb::commit_and_chain ||
           verb == TransactionVerb::prepare_transaction || verb == TransactionVerb::commit_prepared;
}

struct TransactionStatement {
    TransactionVerb verb = TransactionVerb::none;
    TransactionModes modes;  ///< of begin, start_transaction and set_transaction
    /// The name of a savepoint or the literal of a prepared transaction, as written, quotes
    /// included. A view into the text.
    std::string_view name;
};

/// Reads one statement with blanks and comments anywhere and semicolons behind it.
///
/// One-sided: what it recognises, PostgreSQL accepts with that meaning; what it does not surely
/// know (other statements, two statements, names PostgreSQL would refuse, truncate or decode) is
/// `none` and must go to the server unchanged. Ordinary SQL is `none` by its first keyword.
[[nodiscard]] TransactionStatement parse_transaction_statement(std::string_view text);

/// The verb of the first statement that is not empty in a text that may hold more of them.
[[nodiscard]] TransactionVerb first_verb(std::string_view text);

/// Whether a statement of the text could commit: it begins with COMMIT, END or PREPARE
/// TRANSACTION. Errs on the side of true where the text alone does not say where a literal ends
/// (a backslash means different things by standard_conforming_strings and by encoding), and
/// inside BEGIN ATOMIC bodies. CALL and DO are not counted: in a transaction block PostgreSQL
/// refuses to let them commit, and outside one every statement commits. A text of which only the
/// beginning was seen must be taken for true by the caller.
[[nodiscard]] bool may_commit(std::string_view text);

/// PostgreSQL's command tag when the statement does what it says; empty for none and empty.
[[nodiscard]] std::string_view command_tag(TransactionVerb verb);

}  // namespace pgb

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "protocol/transaction_statement.h"
#include "proxy/session/statement_effects.h"
#include "proxy/session/statement_target.h"

namespace pgb {

/// What is known of a prepared statement by its text alone: what it does to the transaction and
/// what it may leave behind. Kept with the statement, as each later execution needs it anew.
struct StatementFacts {
    /// Longer than any driver's BEGIN with all its modes and a comment. What is longer is never
    /// answered here.
    static constexpr std::size_t kLocalTextMax = 512;

    TransactionVerb verb = TransactionVerb::none;
    TransactionModes modes;
    std::string name;        ///< of a savepoint, as written
    StatementEffect does;    ///< each time it is bound and executed, however long its text
    StatementTarget target;  ///< of DEALLOCATE

    /// `transaction` is none unless a statement of the transaction grammar may be answered here.
    StatementFacts() = default;
    StatementFacts(const TransactionStatement& transaction, StatementEffect effect)
        : verb(transaction.verb),
          modes(transaction.modes),
          name(transaction.name),
          does(std::move(effect)) {}

    /// Lives as long as this object.
    [[nodiscard]] TransactionStatement view() const { return {verb, modes, name}; }
};

}  // namespace pgb

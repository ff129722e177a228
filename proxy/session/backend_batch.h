#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/transaction_statement.h"
#include "proxy/session/backend_statements.h"
#include "proxy/session/holding.h"
#include "proxy/session/outbox.h"
#include "proxy/session/reply_ledger.h"
#include "proxy/session/reported_values.h"
#include "proxy/session/settings_book.h"
#include "proxy/session/virtual_block.h"

namespace pgb {

/// What is known of a backend beyond its connection: changed only when the server has confirmed.
/// Owned by the backend's connection; a session that was lent it reads and writes it.
struct BackendBook {
    /// Bit i: the statement `pgb_begin_<i>` is prepared, for TransactionModes::from_index(i).
    std::uint64_t begin_prepared = 0;
    /// The settings in force that the startup packet did not give.
    SettingsBook settings;
    /// The last value of each parameter that the server reports.
    ReportedValues reported;
    BackendStatements statements;
    LastStatement last_statement;
};

/// A name that no statement on a backend ever has.
inline constexpr std::string_view kMissingStatement = "pgb_no_such_statement";

/// Whether a name could be one of the proxy's own on a backend.
[[nodiscard]] bool looks_own(std::string_view name);

// Batches of the proxy's own. Each appends its bytes to `out` and owes their replies to `ledger`;
// none uses the unnamed statement, which belongs to the frontend.

/// The block's BEGIN and savepoints, without a Sync: when one of them fails or is cancelled, the
/// server itself skips whatever of the frontend's follows. A BEGIN that is not prepared on this
/// backend yet is prepared first. Returns true when the first ParseComplete confirms that BEGIN.
bool append_begin(std::string& out, ReplyLedger& ledger, const VirtualBlock& block,
                  const BackendBook& book);

/// Ends an extended batch so that nothing of it takes effect: CopyFail (dropped outside COPY), a
/// Bind that must fail, Sync. A bare Sync would commit what the frontend did not finish.
void append_batch_abort(std::string& out, ReplyLedger& ledger);

/// `why` is told by PostgreSQL in its error.
void append_copy_fail(std::string& out, ReplyLedger& ledger,
                      std::string_view why = "the client has gone");
/// Asks for the answers that the server holds back.
void append_flush(Outbox& out);
void append_sync(std::string& out, ReplyLedger& ledger);
void append_rollback(std::string& out, ReplyLedger& ledger);
void append_discard_all(std::string& out, ReplyLedger& ledger);

/// Takes the settings `in_force` back and gives those `wanted`, as one transaction with one Sync:
/// after an error nothing of it is in force. Each statement is a message of its own, so that it can
/// be no more than one, and is read in the client_encoding that the one before it may have set.
void append_settings(std::string& out, ReplyLedger& ledger, const SettingsBook& in_force,
                     const SettingsBook& wanted);

/// Asks for the advisory locks that the backend holds. Outside a transaction these are those of the
/// session; the tag of the only Execute says `SELECT 0` when there is none.
void append_lock_question(std::string& out, ReplyLedger& ledger);

/// A round trip that changes nothing: when it is answered, everything before it was.
void append_barrier(std::string& out, ReplyLedger& ledger);

/// A whole batch that changes nothing. On a backend of PostgreSQL 18 that is unwell behind a Query in
/// the place of a Sync it gets the XX000 that somebody's statement would get: a transaction is open
/// that was not to be, and the error ends it. Where the backend's role was dropped since its login it
/// gets a 42704, each time.
void append_probe(std::string& out, ReplyLedger& ledger);

/// Makes a prepared statement without declared parameter types.
void append_parse(std::string& out, ReplyLedger& ledger, std::string_view name,
                  std::string_view text);

/// Closes a prepared statement; one that is not there is no error. The empty name makes sure that
/// no other session's unnamed statement is there.
void append_close_statement(std::string& out, ReplyLedger& ledger, std::string_view name);

}  // namespace pgb

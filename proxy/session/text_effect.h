#pragma once

#include <string_view>

#include "proxy/session/session_state.h"

namespace pgb {

/// What a statement text may leave behind on the backend that runs it, judged by a lexer alone:
/// no grammar, no allocation, one pass. Errs towards more, never towards less.
struct TextEffect {
    /// State that belongs to the session and outlives the transaction: SET, LISTEN, a temporary
    /// table, a holdable cursor, a session advisory lock, PREPARE.
    bool pins = false;
    /// The text calls what could change the session in ways that no text shows (a function that is
    /// not known to be harmless, DO, CALL), was not seen whole, or can't be read: the backend is
    /// reset after the transaction.
    bool resets = false;
    /// The text is DISCARD ALL and nothing else: when it succeeds, the session has no state left.
    bool discards_all = false;
    /// DISCARD or DEALLOCATE: statements prepared by the proxy itself may be gone.
    bool forgets_statements = false;
    /// A statement of it begins with PREPARE, EXECUTE or DEALLOCATE of a name, or is an EXPLAIN or
    /// CREATE TABLE of an EXECUTE (read_statement_targets()).
    bool names_statement = false;
    /// The text is DISCARD ALL and nothing else, or holds DEALLOCATE ALL.
    bool drops_all_statements = false;
    /// More than one statement that is not empty.
    bool several = false;
    /// Why it pins; pins is true when there is any reason.
    PinReasons reasons = 0;
    /// What it ends, if it succeeds and its transaction is kept.
    PinReasons unpins = 0;
    /// It changes settings in a way that can be followed: StateTracking::changes_of() tells them.
    bool settings = false;
    /// The same, but the values are parameters: StateTracking::calls_of().
    bool sets_when_bound = false;
    /// It is one statement that does nothing but undo settings.
    bool undoes_settings = false;
    /// Among the statements is one that may be of interest to the grammar.
    bool of_interest = false;
    /// It resets for nothing but calls, or what a lexer takes for them.
    bool resets_by_call = false;
    /// It may give back an advisory lock of the session.
    bool unlocks = false;
    /// It may define, change or drop what other texts name: CREATE, ALTER, DROP, GRANT, DO, CALL or
    /// one of their kin, or it can't be read to its end.
    bool defines = false;
    /// BEGIN, COMMIT, SAVEPOINT or one of their kin is among the statements.
    bool transactions = false;
    /// The text means different things under different settings, or can't be read to its end.
    bool unsure = false;
};

/// `whole` false: `text` is the beginning of a longer one.
TextEffect effect_of(std::string_view text, bool whole);

}  // namespace pgb

#pragma once

#include <string_view>

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
    /// The text begins with PREPARE, EXECUTE or DEALLOCATE of a name (read_statement_target()).
    bool names_statement = false;
    /// The text is DISCARD ALL and nothing else, or holds DEALLOCATE ALL.
    bool drops_all_statements = false;
    /// More than one statement that is not empty.
    bool several = false;
};

/// `whole` false: `text` is the beginning of a longer one.
TextEffect effect_of(std::string_view text, bool whole);

}  // namespace pgb

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "proxy/session/reply_ledger.h"
#include "tests/support/catch.h"

namespace pgb {

inline std::optional<Owed> owed_by(char letter) {
    switch (letter) {
        case 'Q': return Owed::query;
        case 'F': return Owed::function_call;
        case 'P': return Owed::parse;
        case 'B': return Owed::bind;
        case 's': return Owed::describe_statement;
        case 'p': return Owed::describe_portal;
        case 'E': return Owed::execute;
        case 'C': return Owed::close;
        case 'S': return Owed::sync;
        case 'c': return Owed::copy_end;
        default: return std::nullopt;  // CopyData and Flush owe nothing
    }
}

inline char letter_of(Ruling ruling) {
    switch (ruling) {
        case Ruling::forward: return 'f';
        case Ruling::swallow: return '-';
        case Ruling::own_error: return '!';
        case Ruling::unexpected: return '?';
    }
    return ' ';
}

/// A ledger driven by the type bytes of the wire. Of Describe, `s` is a statement's and `p` a
/// portal's; `d` and `H` may stand where the frontend writes them. Rulings: `f` forward,
/// `-` swallow, `!` own error, `?` unexpected.
struct Wire {
    ReplyLedger ledger;

    void send(std::string_view messages, Origin origin = Origin::frontend) {
        for (const char letter : messages) {
            const std::optional<Owed> what = owed_by(letter);
            if (what) ledger.owe(*what, origin);
        }
    }
    void send_own(std::string_view messages) { send(messages, Origin::own); }

    std::string reply(std::string_view types) {
        std::string rulings;
        for (const char type : types) {
            const std::optional<BackendType> known = backend_type(type);
            REQUIRE(known);
            rulings += letter_of(ledger.on_reply(*known));
        }
        return rulings;
    }
    /// Whether every one of these replies is the frontend's.
    bool forwards(std::string_view types) { return reply(types) == std::string(types.size(), 'f'); }
    /// Nothing owed, nothing open: the backend could be given away.
    [[nodiscard]] bool at_rest() const {
        return ledger.settled() && !ledger.unsynced() && !ledger.copying_in() &&
               ledger.frontend_syncs() == 0;
    }
};

}  // namespace pgb

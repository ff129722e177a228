// The unnamed statement, and texts that drop statements.

#include "protocol/cursor.h"
#include "proxy/session/session_statements.h"

namespace pgb {

namespace {

// Without rows and parameters, and refused by PostgreSQL's Parse in a failed block.
bool is_bare(const StatementFacts& facts) {
    if (facts.does.text.drops_all_statements || !facts.target.name.empty()) return true;
    switch (facts.verb) {
        case TransactionVerb::begin:
        case TransactionVerb::start_transaction:
        case TransactionVerb::savepoint:
        case TransactionVerb::release:
        case TransactionVerb::set_transaction:
        case TransactionVerb::commit_prepared:
        case TransactionVerb::rollback_prepared: return true;
        case TransactionVerb::none:
        case TransactionVerb::empty:
        case TransactionVerb::commit:
        case TransactionVerb::end_:
        case TransactionVerb::rollback:
        case TransactionVerb::abort_:
        case TransactionVerb::commit_and_chain:
        case TransactionVerb::rollback_and_chain:
        case TransactionVerb::rollback_to:
        case TransactionVerb::prepare_transaction: return false;
    }
    return false;
}

// Of a Parse that is kept as it came: behind its head and its empty name.
std::string_view text_of(std::string_view parse) {
    return Cursor(parse.substr(kMessageHeaderSize + 1)).cstring();
}

}  // namespace

Passage SessionStatements::parse_unnamed(const Frame& frame, const StatementFacts& facts,
                                         StatementWire& wire) {
    // The rest of a message that is not whole would be missing when it is repeated.
    const std::string_view message = frame.whole() ? frame.bytes : std::string_view();
    PendingStatement& pending = pending_.push(PendingKind::unnamed_parse, wire.batch);
    pending.number = registry_.fresh_token();
    unnamed_.sent(pending.number, message, facts);
    wire.ledger.owe(Owed::parse, Origin::frontend, Note::noted);
    wire.out.to_backend(frame.bytes);
    return Passage::sent;
}

// Makes sure that the backend's unnamed statement is this session's, or that there is none.
Passage SessionStatements::ready_unnamed(StatementWire& wire) {
    const PendingStatement* coming = pending_.newest([](const PendingStatement& pending) {
        return pending.kind >= PendingKind::unnamed_parse || pending.drops_unnamed;
    });
    if (coming != nullptr && coming->batch != wire.batch) return Passage::wait;
    const UnnamedStatement::Version& mine = unnamed_.latest();
    if (!mine.message.empty()) wire.book.last_statement.note(text_of(mine.message));
    const std::uint64_t there = coming != nullptr ? coming->number : wire.book.statements.unnamed;
    if (mine.token == there) return Passage::as_it_is;
    // As for a named one: a failed block decides what may be made.
    if (wire.ledger.frontend_syncs() > 0) return Passage::wait;
    std::string& own = wire.out.scratch();
    if (wire.in_failed_block && mine.token != 0 && is_bare(mine.facts)) {
        // What PostgreSQL says of it in a failed block, it says of an empty statement, too.
        append_own_parse({}, {}, {}, wire);
        pending_.push(PendingKind::unnamed_again, wire.batch).number = registry_.fresh_token();
        return Passage::as_it_is;
    }
    if (mine.token == 0 || mine.message.empty()) {
        append_own_close(own, {}, wire);
        pending_.push(PendingKind::unnamed_foreign, wire.batch);
    } else {
        own = mine.message;
        wire.ledger.owe(Owed::parse, Origin::own, Note::noted);
        pending_.push(PendingKind::unnamed_again, wire.batch).number = mine.token;
        registry_.count_prepared();
    }
    wire.out.to_backend(own);
    return Passage::as_it_is;
}

Note SessionStatements::query(const Drops& drops, StatementWire& wire) {
    if (wire.ledger.skipping()) return Note::none;
    if (drops.all || !drops.given.empty()) {
        execute(drops, wire);
        pending_.back().drops_unnamed = true;
    } else if (unnamed_.latest().token == 0 && wire.book.statements.unnamed == 0 &&
               pending_.empty()) {
        return Note::none;
    } else {
        pending_.push(PendingKind::unnamed_drop, wire.batch);
    }
    unnamed_.drop_sent();
    return Note::noted;
}

Note SessionStatements::execute(const Drops& drops, StatementWire& wire) {
    if (wire.ledger.skipping()) return Note::none;
    if (drops.all) {
        doubt_all(wire);
        pending_.push(PendingKind::close_all, wire.batch);
        return Note::noted;
    }
    if (drops.given.empty()) return Note::none;
    pending_.push(PendingKind::deallocate, wire.batch).name = drops.given;
    return Note::noted;
}

void SessionStatements::doubt_all(StatementWire& wire) {
    wire.book.statements.doubt_all();
    pending_.for_each([](PendingStatement& pending) { pending.doubtful = true; });
}

}  // namespace pgb

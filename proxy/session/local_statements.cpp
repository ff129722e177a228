// Prepared statements while no backend takes part: what can be answered from the books.

#include "protocol/error_response.h"
#include "protocol/rows.h"
#include "protocol/sqlstate.h"
#include "proxy/session/backend_batch.h"
#include "proxy/session/local_answers.h"
#include "proxy/session/rowless_text.h"
#include "proxy/session/statement_errors.h"

namespace pgb {

// A statement that execute() would answer here is made here, too, under whatever name: a driver's
// prepared ROLLBACK must end a block that no backend knows of. False: not the proxy's to answer.
bool LocalAnswers::make_statement(const Frame& frame, const ParseRequest& parse,
                                  const TransactionStatement& statement, Kept kept, Outbox& out) {
    const bool here = parse.parameter_type_count == 0 &&
                      parse.text.size() <= StatementFacts::kLocalTextMax &&
                      books_.block.is_local(statement, parse.text);
    if (!here) return false;
    const StatementFacts facts(statement,
                               {.verb = statement.verb, .savepoint = std::string(statement.name)});
    std::string& reply = out.scratch();
    if (parse.name.empty()) {
        books_.statements.set_unnamed(frame.bytes, facts);
        if (kept == Kept::resident) books_.owed.unnamed_changed();
    } else if (books_.statements.knows(parse.name)) {
        reply += statement_exists(parse.name);
        fail_batch(reply, out);
        return true;
    } else {
        const bool remembered = !parse.truncated && !looks_own(parse.name) &&
                                books_.statements.has_room(parse.name, parse.text.size());
        if (!remembered) return false;
        books_.statements.set_settings(books_.journal.fingerprint(books_.settings));
        books_.statements.set_name(parse.name, parse.text, facts);
        if (kept == Kept::resident) books_.owed.parsed(parse.name, parse.text);
    }
    append_parse_complete(reply);
    out.to_frontend(reply);
    return true;
}

void LocalAnswers::close_statement(std::string_view name, Kept kept) {
    if (name.empty()) {
        books_.statements.drop_unnamed();
        if (kept == Kept::resident) books_.owed.unnamed_changed();
        return;
    }
    books_.owed.unmake(name);
    if (kept == Kept::resident || (kept == Kept::backend && !books_.statements.knows(name))) {
        books_.owed.closed(name);
    }
    books_.statements.drop_name(name);
    books_.effects.on_close_statement(name);
}

// DEALLOCATE of a session that keeps no backend and is in no block: all that they
// are about is here.
bool LocalAnswers::drop_statements(std::string_view text, Kept kept, std::string& reply) {
    if (kept != Kept::nothing || books_.block.state() != VirtualBlock::State::none) return false;
    const StatementTarget target = read_statement_target(text);
    if (!target.alone) return false;
    switch (target.kind) {
        case StatementTarget::Kind::none:
        case StatementTarget::Kind::prepare:
        case StatementTarget::Kind::execute: return false;
        case StatementTarget::Kind::deallocate_all:
            books_.statements.drop_names();
            append_command_complete(reply, "DEALLOCATE ALL");
            return true;
        case StatementTarget::Kind::discard_all: return false;
        case StatementTarget::Kind::deallocate: break;
    }
    if (books_.statements.knows(target.name)) {
        books_.statements.drop_name(target.name);
        append_command_complete(reply, "DEALLOCATE");
    } else {
        append_not_in_failed_block(target.name, kept, reply);
    }
    return true;
}

// In a failed block PostgreSQL describes what has no rows.
bool LocalAnswers::describe_rowless(const TargetRequest& target, Outbox& out) {
    if (target.kind != 'S' || !target.well_formed() || target.truncated) return false;
    auto types = books_.statements.types_if_rowless(target.name);
    const UnnamedStatement::Version& unnamed = books_.statements.unnamed().latest();
    if (target.name.empty() && unnamed.token != 0 && !unnamed.message.empty()) {
        const std::string_view body = std::string_view(unnamed.message).substr(kMessageHeaderSize);
        types = types_if_rowless(parse_parse(body, true));
    }
    if (!types) return false;
    std::string& reply = out.scratch();
    append_parameter_description(reply, *types);
    append_no_data(reply);
    out.to_frontend(reply);
    return true;
}

const StatementFacts* LocalAnswers::transaction_statement(std::string_view name) const {
    const StatementFacts* facts = books_.statements.facts(name);
    return facts != nullptr && facts->verb != TransactionVerb::none ? facts : nullptr;
}

// PostgreSQL looks for the statement first. What a session made on a backend that it keeps is known
// there only.
void LocalAnswers::append_not_in_failed_block(std::string_view name, Kept kept,
                                              std::string& reply) const {
    if (books_.statements.knows(name) || (kept != Kept::nothing && !name.empty())) {
        append_in_failed_block(reply);
        return;
    }
    reply += no_such_statement(name);
}

// No portal outlives its transaction; a kept backend may have a holdable cursor, and an unnamed one
// may be left of what was answered here.
void LocalAnswers::append_no_portal(std::string_view name, Kept kept, std::string& reply) {
    if (kept != Kept::nothing || name.empty()) {
        append_in_failed_block(reply);
        return;
    }
    append_error(reply, {.sqlstate = sqlstate::kInvalidCursorName,
                         .message = "portal \"" + std::string(name) + "\" does not exist"});
}

}  // namespace pgb

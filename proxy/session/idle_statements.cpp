// Prepared statements while no backend takes part: what can be answered from the books.

#include "protocol/request.h"
#include "protocol/rows.h"
#include "proxy/session/session.h"
#include "proxy/session/statement_errors.h"

namespace pgb {

// A statement that execute() would answer here is made here, too, under whatever name: a driver's
// prepared ROLLBACK must end a block that no backend knows of. False: not the proxy's to answer.
bool Session::parse_here(const Frame& frame, const ParseRequest& parse,
                         const TransactionStatement& statement, Outbox& out) {
    const bool here = parse.parameter_type_count == 0 &&
                      parse.text.size() <= StatementFacts::kLocalTextMax &&
                      block_.is_local(statement, parse.text);
    if (!here) return false;
    const StatementFacts facts(statement, effect_of_parsed(statement, {}, parse.text));
    std::string& reply = out.scratch();
    if (parse.name.empty()) {
        statements_.set_unnamed(frame.bytes, facts);
        unnamed_stale_ = is_resident();
    } else if (statements_.knows(parse.name)) {
        reply += statement_exists(parse.name);
        fail_batch(reply, out);
        return true;
    } else {
        const bool remembered = !parse.truncated && !looks_own(parse.name) &&
                                statements_.has_room(parse.name, parse.text.size());
        if (!remembered) return false;
        note_settings();
        statements_.set_name(parse.name, parse.text, facts);
        if (is_resident()) owed_parses_.emplace_back(parse.name, parse.text);
    }
    append_parse_complete(reply);
    out.to_frontend(reply);
    return true;
}

void Session::close_here(std::string_view name) {
    if (name.empty()) {
        statements_.drop_unnamed();
        unnamed_stale_ = is_resident();
        return;
    }
    std::erase_if(owed_parses_, [name](const auto& made) { return made.first == name; });
    if (has_backend_ && (is_resident() || !statements_.knows(name))) {
        owed_closes_.emplace_back(name);
    }
    statements_.drop_name(name);
    effects_.on_close_statement(name);
}

// DEALLOCATE and DISCARD ALL of a session that keeps no backend and is in no block: all that they
// are about is here.
bool Session::drop_statements(std::string_view text, std::string& reply) {
    if (has_backend_ || block_.state() != VirtualBlock::State::none) return false;
    const StatementTarget target = read_statement_target(text);
    if (!target.alone) return false;
    switch (target.kind) {
        case StatementTarget::Kind::none:
        case StatementTarget::Kind::prepare:
        case StatementTarget::Kind::execute: return false;
        case StatementTarget::Kind::deallocate_all:
            statements_.drop_names();
            append_command_complete(reply, "DEALLOCATE ALL");
            return true;
        case StatementTarget::Kind::discard_all:
            // With settings PostgreSQL has the parameters to tell that return to their start.
            if (!settings_.empty()) return false;
            statements_.drop_names();
            append_command_complete(reply, "DISCARD ALL");
            return true;
        case StatementTarget::Kind::deallocate: break;
    }
    if (statements_.knows(target.name)) {
        statements_.drop_name(target.name);
        append_command_complete(reply, "DEALLOCATE");
    } else {
        append_not_in_failed_block(target.name, reply);
    }
    return true;
}

// In a failed block PostgreSQL describes what has no rows.
bool Session::describe_rowless(const TargetRequest& target, Outbox& out) {
    if (target.kind != 'S' || !target.well_formed() || target.truncated) return false;
    const auto types = statements_.types_if_rowless(target.name);
    if (!types) return false;
    std::string& reply = out.scratch();
    append_parameter_description(reply, *types);
    append_no_data(reply);
    out.to_frontend(reply);
    return true;
}

const StatementFacts* Session::local_statement(std::string_view name) const {
    const StatementFacts* facts = statements_.facts(name);
    return facts != nullptr && facts->verb != TransactionVerb::none ? facts : nullptr;
}

}  // namespace pgb

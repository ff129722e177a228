#include "proxy/session/local_answers.h"

#include "protocol/error_response.h"
#include "protocol/rows.h"
#include "protocol/sqlstate.h"
#include "proxy/session/housekeeping_texts.h"
#include "proxy/session/own_warnings.h"
#include "proxy/session/state_tracking.h"

namespace pgb {

namespace {

bool ends_failed_block(TransactionVerb verb) {
    switch (verb) {
        case TransactionVerb::commit:
        case TransactionVerb::end_:
        case TransactionVerb::rollback:
        case TransactionVerb::abort_:
        case TransactionVerb::commit_and_chain:
        case TransactionVerb::rollback_and_chain:
        case TransactionVerb::prepare_transaction:
        case TransactionVerb::empty: return true;
        case TransactionVerb::none:
        case TransactionVerb::begin:
        case TransactionVerb::start_transaction:
        case TransactionVerb::savepoint:
        case TransactionVerb::release:
        case TransactionVerb::rollback_to:
        case TransactionVerb::set_transaction:
        case TransactionVerb::commit_prepared:
        case TransactionVerb::rollback_prepared: return false;
    }
    return false;
}

void append_layout_error(std::string& out, MessageFault fault) {
    append_error(out, {.sqlstate = sqlstate::kProtocolViolation, .message = fault_message(fault)});
}

}  // namespace

void LocalAnswers::sync(const Frame& frame, Outbox& out) {
    std::string& reply = out.scratch();
    if (frame.size != kMessageHeaderSize) {
        append_layout_error(reply, MessageFault::invalid_format);
        fail_open_block();
    }
    answer(reply, out);
}

void LocalAnswers::flush(const Frame& frame, Outbox& out) {
    if (frame.size == kMessageHeaderSize) return;
    std::string& reply = out.scratch();
    append_layout_error(reply, MessageFault::invalid_format);
    fail_batch(reply, out);
}

void LocalAnswers::discard(const Frame& frame, Outbox& out) {
    if (frame.type != static_cast<char>(FrontendType::sync)) return;
    discarding_ = false;
    std::string& reply = out.scratch();
    answer(reply, out);
}

void LocalAnswers::answer(std::string& reply, Outbox& out) const {
    append_ready_for_query(reply, books_.block.status());
    out.to_frontend(reply);
}

void LocalAnswers::fail_open_block() {
    if (books_.block.state() == VirtualBlock::State::open) books_.block.fail();
}

void LocalAnswers::fail_batch(std::string& reply, Outbox& out) {
    fail_open_block();
    discarding_ = true;
    out.to_frontend(reply);
}

bool LocalAnswers::refuses_begin(const Frame& frame) const {
    if (frame.type == static_cast<char>(FrontendType::bind)) {
        const BindRequest bind = parse_bind(frame.body(), frame.body_is_whole());
        const StatementFacts* statement = transaction_statement(bind.statement);
        return statement != nullptr && begins_block(statement->verb);
    }
    if (frame.type != static_cast<char>(FrontendType::parse)) return false;
    const ParseRequest parse = parse_parse(frame.body(), frame.body_is_whole());
    return begins_block(first_verb(parse.text));
}

void LocalAnswers::refuse(const Frame& frame, std::string& reply, Outbox& out) {
    const bool is_query = frame.type == static_cast<char>(FrontendType::query);
    if (refuses_begin(frame)) books_.block.fail();
    if (!is_query && frame.type != static_cast<char>(FrontendType::function_call)) {
        fail_batch(reply, out);
        return;
    }
    fail_open_block();
    if (is_query && books_.block.state() == VirtualBlock::State::none) {
        // A text that opens a block by itself leaves PostgreSQL in a failed one.
        const QueryRequest query = parse_query(frame.body(), frame.body_is_whole());
        if (begins_block(first_verb(query.text))) books_.block.fail();
    }
    answer(reply, out);
}

// True: there was something untold, and it is in `reply` now.
bool LocalAnswers::tell_now(const TransactionStatement& statement, std::string& reply) {
    if (untold_error_.empty() || !failed() || ends_failed_block(statement.verb)) return false;
    reply.swap(untold_error_);
    untold_error_.clear();
    return true;
}

// The block it was about has ended without a statement that could have been told.
void LocalAnswers::forget_untold_error() {
    if (!failed()) untold_error_.clear();
}

bool LocalAnswers::in_failed_block(std::string& reply, Outbox& out) {
    append_in_failed_block(reply);
    fail_batch(reply, out);
    return true;
}

bool LocalAnswers::function_call(Outbox& out) {
    if (!failed()) return false;
    std::string& reply = out.scratch();
    append_in_failed_block(reply);
    answer(reply, out);
    return true;
}

// In a failed block a text that is none is told so all the same.
bool LocalAnswers::fails_to_parse(std::string_view text, bool whole,
                                  const TransactionStatement& statement, std::string& reply) const {
    if (!failed() || !grammar_) return false;
    if (statement.verb != TransactionVerb::none || !whole) return false;
    return text.size() <= StateTracking::kTextMax && append_syntax_error(std::string(text), reply);
}

bool LocalAnswers::query(const Frame& frame, const QueryRequest& query, Kept kept, Outbox& out) {
    std::string& reply = out.scratch();
    if (!query.well_formed()) {
        append_layout_error(reply, query.fault);
        fail_open_block();
        answer(reply, out);
        return true;
    }
    // As in PostgreSQL, whatever becomes of the text.
    books_.statements.drop_unnamed();
    const TransactionStatement statement =
        frame.body_is_whole() ? parse_transaction_statement(query.text) : TransactionStatement{};
    if (tell_now(statement, reply) ||
        fails_to_parse(query.text, frame.body_is_whole(), statement, reply)) {
        answer(reply, out);
        return true;
    }
    if (failed() && statement.verb == TransactionVerb::none) {
        // Several statements that begin by leaving the block: the rest needs a backend. Only
        // ROLLBACK: a COMMIT would be answered by its own tag and so claim success.
        const TransactionVerb first = first_verb(query.text);
        if (first == TransactionVerb::rollback || first == TransactionVerb::abort_) {
            books_.block.leave();
        }
    }
    if (books_.block.execute(statement, query.text, warnings_for(books_.settings), reply) !=
        VirtualBlock::Outcome::needs_backend) {
        forget_untold_error();
        answer(reply, out);
        return true;
    }
    if (!frame.body_is_whole()) return false;
    if (!drop_statements(query.text, kept, reply) &&
        !(may_be_housekeeping(query.text) && reset(query.text, kept, reply))) {
        return false;
    }
    answer(reply, out);
    return true;
}

bool LocalAnswers::parse(const Frame& frame, const ParseRequest& parse, Kept kept, Outbox& out) {
    std::string& reply = out.scratch();
    if (!parse.well_formed()) {
        append_layout_error(reply, parse.fault);
        fail_batch(reply, out);
        return true;
    }
    // PostgreSQL drops the unnamed statement first, whatever becomes of the new one.
    if (parse.name.empty()) books_.statements.drop_unnamed();
    const TransactionStatement statement =
        frame.body_is_whole() ? parse_transaction_statement(parse.text) : TransactionStatement{};
    if (tell_now(statement, reply) ||
        fails_to_parse(parse.text, frame.body_is_whole(), statement, reply)) {
        fail_batch(reply, out);
        return true;
    }
    if (failed() && !ends_failed_block(statement.verb) &&
        statement.verb != TransactionVerb::rollback_to) {
        return in_failed_block(reply, out);
    }
    if (make_statement(frame, parse, statement, kept, out)) return true;
    return failed() && in_failed_block(reply, out);
}

bool LocalAnswers::bind(const BindRequest& bind, Kept kept, Outbox& out) {
    const StatementFacts* statement = transaction_statement(bind.statement);
    // In a failed block PostgreSQL binds what ends it, and not even an empty statement.
    const bool bindable = statement != nullptr &&
                          !(failed() && statement->verb == TransactionVerb::empty) &&
                          books_.block.is_local(statement->view(), {});
    std::string& reply = out.scratch();
    if (bindable && bind.well_formed() && bind.portal.empty() && bind.parameter_count == 0) {
        portal_ = *statement;
        append_bind_complete(reply);
        out.to_frontend(reply);
        return true;
    }
    if (!failed()) return false;
    if (!untold_error_.empty()) {
        reply.swap(untold_error_);
        untold_error_.clear();
    } else if (const std::string complaint = books_.statements.wrong_count(bind);
               !complaint.empty()) {
        reply += complaint;
    } else {
        append_not_in_failed_block(bind.statement, kept, reply);
    }
    fail_batch(reply, out);
    return true;
}

bool LocalAnswers::describe(const TargetRequest& target, Kept kept, Outbox& out) {
    std::string& reply = out.scratch();
    const bool of_portal = target.kind == 'P' && target.name.empty() && portal_;
    const bool of_statement = target.kind == 'S' && transaction_statement(target.name) != nullptr;
    if (target.well_formed() && (of_portal || of_statement)) {
        if (of_statement) append_parameter_description(reply, {});
        append_no_data(reply);
        out.to_frontend(reply);
        return true;
    }
    if (!failed()) return false;
    if (describe_rowless(target, out)) return true;
    if (target.kind == 'S') {
        append_not_in_failed_block(target.name, kept, reply);
    } else {
        append_no_portal(target.name, kept, reply);
    }
    fail_batch(reply, out);
    return true;
}

bool LocalAnswers::execute(const ExecuteRequest& execute, Kept kept, Outbox& out) {
    std::string& reply = out.scratch();
    if (execute.well_formed() && execute.portal.empty() && portal_) {
        // Only a savepoint's text is kept, to be repeated to the backend.
        const std::string text = "SAVEPOINT " + portal_->name;
        const auto outcome =
            books_.block.execute(portal_->view(), text, warnings_for(books_.settings), reply);
        portal_.reset();
        forget_untold_error();
        if (outcome == VirtualBlock::Outcome::answered) {
            out.to_frontend(reply);
            return true;
        }
        if (outcome == VirtualBlock::Outcome::refused) {
            fail_batch(reply, out);
            return true;
        }
    }
    if (!failed()) return false;
    append_no_portal(execute.portal, kept, reply);
    fail_batch(reply, out);
    return true;
}

void LocalAnswers::close(const TargetRequest& target, Kept kept, Outbox& out) {
    std::string& reply = out.scratch();
    if (!target.well_formed()) {
        const std::string subtype = "invalid CLOSE message subtype " +
                                    std::to_string(static_cast<unsigned char>(target.kind));
        append_error(reply, {.sqlstate = sqlstate::kProtocolViolation,
                             .message = target.fault == MessageFault::invalid_subtype
                                            ? subtype
                                            : fault_message(target.fault)});
        fail_batch(reply, out);
        return;
    }
    if (target.kind == 'P' && target.name.empty()) portal_.reset();
    if (target.kind == 'S') close_statement(target.name, kept);
    append_close_complete(reply);
    out.to_frontend(reply);
}

}  // namespace pgb

// Messages while no backend takes part: answered here, refused, or the reason to ask for a permit.

#include "protocol/error_response.h"
#include "protocol/request.h"
#include "protocol/rows.h"
#include "protocol/sqlstate.h"
#include "proxy/session/own_warnings.h"
#include "proxy/session/session.h"
#include "proxy/session/statement_errors.h"

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

bool Session::take_idle(const Frame& frame, std::string_view behind, const Turn& turn,
                        Outbox& out) {
    frontend_rest_ = Rest::drop;
    const std::optional<FrontendType> type = frontend_type(frame.type);
    if (!type || *type == FrontendType::password) return violation(frame, turn, out);
    if (*type == FrontendType::terminate) {
        out.decide(Decision::close_frontend);
        on_frontend_gone(Leaving::goodbye, turn, out);
        return true;
    }
    if (discarding_) return discard(frame, out);
    if (!refusal_.empty()) return refuse(frame, out);
    if (is_resident() && block_.state() == VirtualBlock::State::none) {
        return idle_resident(frame, out);
    }
    switch (*type) {
        case FrontendType::query: return idle_query(frame, out);
        case FrontendType::parse: return idle_parse(frame, behind, out);
        case FrontendType::bind: return idle_bind(frame, out);
        case FrontendType::describe: return idle_describe(frame, out);
        case FrontendType::execute: return idle_execute(frame, out);
        case FrontendType::close: return idle_close(frame, out);
        case FrontendType::function_call:
            return block_.state() == VirtualBlock::State::failed ? answer_failed_block(out)
                                                                 : ask(false, out);
        case FrontendType::sync: {
            std::string& reply = out.scratch();
            if (frame.size != kMessageHeaderSize) {
                append_layout_error(reply, MessageFault::invalid_format);
                if (block_.state() == VirtualBlock::State::open) block_.fail();
            }
            answer(reply, out);
            return true;
        }
        case FrontendType::flush:
            if (frame.size != kMessageHeaderSize) {
                std::string& reply = out.scratch();
                append_layout_error(reply, MessageFault::invalid_format);
                fail_batch(reply, out);
            }
            return true;
        // Left over from a COPY that failed: PostgreSQL drops them without a word.
        case FrontendType::copy_data:
        case FrontendType::copy_done:
        case FrontendType::copy_fail:
        case FrontendType::password:
        case FrontendType::terminate: return true;
    }
    return true;
}

bool Session::discard(const Frame& frame, Outbox& out) {
    if (frame.type != static_cast<char>(FrontendType::sync)) return true;
    discarding_ = false;
    std::string& reply = out.scratch();
    answer(reply, out);
    return true;
}

void Session::answer(std::string& reply, Outbox& out) const {
    append_ready_for_query(reply, block_.status());
    out.to_frontend(reply);
}

void Session::fail_batch(std::string& reply, Outbox& out) {
    if (block_.state() == VirtualBlock::State::open) block_.fail();
    discarding_ = true;
    out.to_frontend(reply);
}

bool Session::ask(bool pins, Outbox& out) {
    if (pins && !pin_reserved_) {
        out.decide(Decision::ask_pin);
        // The answer comes before the next call; the message is looked at again.
        return false;
    }
    state_ = SessionState::queued;
    out.decide(Decision::ask_permit);
    return false;
}

bool Session::ask_for_text(std::string_view text, bool whole, Outbox& out) {
    judged_ = judge(text, whole);
    aim_.reset();
    return ask(judged_->pins, out);
}

bool Session::ask_for_statement(std::string_view name, Outbox& out) {
    const StatementFacts* facts = statements_.facts(name);
    return ask(facts != nullptr && facts->does.text.pins, out);
}

// A BEGIN that only a server can do never gets to be, so nothing behind it may run as if it had not
// been sent.
bool Session::refuses_begin(const Frame& frame) const {
    if (frame.type == static_cast<char>(FrontendType::bind)) {
        const BindRequest bind = parse_bind(frame.body(), frame.body_is_whole());
        const StatementFacts* statement = local_statement(bind.statement);
        return statement != nullptr && begins_block(statement->verb);
    }
    if (frame.type != static_cast<char>(FrontendType::parse)) return false;
    const ParseRequest parse = parse_parse(frame.body(), frame.body_is_whole());
    return begins_block(first_verb(parse.text));
}

bool Session::refuse(const Frame& frame, Outbox& out) {
    std::string& reply = out.scratch();
    reply.swap(refusal_);
    refusal_.clear();
    judged_.reset();
    aim_.reset();
    if (pin_reserved_ && pins_ == 0) drop_pin(out);
    const bool is_query = frame.type == static_cast<char>(FrontendType::query);
    if (refuses_begin(frame)) block_.fail();
    if (is_resident()) forget_unnamed(frame);
    if (!is_query && frame.type != static_cast<char>(FrontendType::function_call)) {
        fail_batch(reply, out);
        return true;
    }
    if (block_.state() == VirtualBlock::State::open) block_.fail();
    if (is_query && block_.state() == VirtualBlock::State::none) {
        // A text that opens a block by itself leaves PostgreSQL in a failed one.
        const QueryRequest query = parse_query(frame.body(), frame.body_is_whole());
        const TransactionVerb first = first_verb(query.text);
        if (begins_block(first)) block_.fail();
    }
    answer(reply, out);
    return true;
}

bool Session::untold_failure(const TransactionStatement& statement) const {
    return !untold_error_.empty() && block_.state() == VirtualBlock::State::failed &&
           !ends_failed_block(statement.verb);
}

// The block it was about has ended without a statement that could have been told.
void Session::forget_untold_error() {
    if (block_.state() != VirtualBlock::State::failed) untold_error_.clear();
}

bool Session::answer_failed_block(Outbox& out) {
    std::string& reply = out.scratch();
    append_in_failed_block(reply);
    answer(reply, out);
    return true;
}

// In a failed block a text that is none is told so all the same.
bool Session::fails_to_parse(std::string_view text, bool whole,
                             const TransactionStatement& statement, std::string& reply) const {
    if (block_.state() != VirtualBlock::State::failed || tracking_ == nullptr) return false;
    if (statement.verb != TransactionVerb::none || !whole) return false;
    return text.size() <= StateTracking::kTextMax && append_syntax_error(std::string(text), reply);
}

bool Session::idle_query(const Frame& frame, Outbox& out) {
    const QueryRequest query = parse_query(frame.body(), frame.body_is_whole());
    std::string& reply = out.scratch();
    if (!query.well_formed()) {
        append_layout_error(reply, query.fault);
        if (block_.state() == VirtualBlock::State::open) block_.fail();
        answer(reply, out);
        return true;
    }
    // As in PostgreSQL, whatever becomes of the text.
    statements_.drop_unnamed();
    const TransactionStatement statement =
        frame.body_is_whole() ? parse_transaction_statement(query.text) : TransactionStatement{};
    if (untold_failure(statement)) {
        reply.swap(untold_error_);
        untold_error_.clear();
        answer(reply, out);
        return true;
    }
    if (fails_to_parse(query.text, frame.body_is_whole(), statement, reply)) {
        answer(reply, out);
        return true;
    }
    if (block_.state() == VirtualBlock::State::failed && statement.verb == TransactionVerb::none) {
        // Several statements that begin by leaving the block: the rest needs a backend. Only
        // ROLLBACK: a COMMIT would be answered by its own tag and so claim success.
        const TransactionVerb first = first_verb(query.text);
        if (first == TransactionVerb::rollback || first == TransactionVerb::abort_) block_.leave();
    }
    if (block_.execute(statement, query.text, warnings_for(settings_), reply) !=
        VirtualBlock::Outcome::needs_backend) {
        forget_untold_error();
        answer(reply, out);
        return true;
    }
    if (frame.body_is_whole() && drop_statements(query.text, reply)) {
        answer(reply, out);
        return true;
    }
    const bool taken = ask_for_text(query.text, frame.body_is_whole(), out);
    aim_at_undone(query.text);
    return taken;
}

bool Session::idle_parse(const Frame& frame, std::string_view behind, Outbox& out) {
    const ParseRequest parse = parse_parse(frame.body(), frame.body_is_whole());
    std::string& reply = out.scratch();
    if (!parse.well_formed()) {
        append_layout_error(reply, parse.fault);
        fail_batch(reply, out);
        return true;
    }
    // PostgreSQL drops the unnamed statement first, whatever becomes of the new one.
    if (parse.name.empty()) statements_.drop_unnamed();
    const TransactionStatement statement =
        frame.body_is_whole() ? parse_transaction_statement(parse.text) : TransactionStatement{};
    const bool failed = block_.state() == VirtualBlock::State::failed;
    if (untold_failure(statement)) {
        reply.swap(untold_error_);
        untold_error_.clear();
        fail_batch(reply, out);
        return true;
    }
    if (fails_to_parse(parse.text, frame.body_is_whole(), statement, reply)) {
        fail_batch(reply, out);
        return true;
    }
    if (failed && !ends_failed_block(statement.verb) &&
        statement.verb != TransactionVerb::rollback_to) {
        append_in_failed_block(reply);
        fail_batch(reply, out);
        return true;
    }
    if (parse_here(frame, parse, statement, out)) return true;
    if (failed) {
        append_in_failed_block(reply);
        fail_batch(reply, out);
        return true;
    }
    if (parse_late(frame, parse, behind, out)) return true;
    return ask_for_text(parse.text, frame.body_is_whole(), out);
}

bool Session::idle_bind(const Frame& frame, Outbox& out) {
    const BindRequest bind = parse_bind(frame.body(), frame.body_is_whole());
    const StatementFacts* statement = local_statement(bind.statement);
    std::string& reply = out.scratch();
    const bool failed = block_.state() == VirtualBlock::State::failed;
    // In a failed block PostgreSQL binds what ends it, and not even an empty statement.
    const bool bindable = statement != nullptr &&
                          !(failed && statement->verb == TransactionVerb::empty) &&
                          block_.is_local(statement->view(), {});
    if (bindable && bind.well_formed() && bind.portal.empty() && bind.parameter_count == 0) {
        local_portal_ = *statement;
        append_bind_complete(reply);
        out.to_frontend(reply);
        return true;
    }
    if (!failed) return ask_for_statement(bind.statement, out);
    if (const std::string complaint = statements_.wrong_count(bind); !complaint.empty()) {
        reply += complaint;
    } else {
        append_not_in_failed_block(bind.statement, reply);
    }
    fail_batch(reply, out);
    return true;
}

// PostgreSQL looks for the statement first. What a session made on a backend that it keeps is known
// there only.
void Session::append_not_in_failed_block(std::string_view name, std::string& reply) const {
    if (statements_.knows(name) || (has_backend_ && !name.empty())) {
        append_in_failed_block(reply);
        return;
    }
    reply += no_such_statement(name);
}

// No portal outlives its transaction; a kept backend may have a holdable cursor, and an unnamed one
// may be left of what was answered here.
void Session::append_no_portal(std::string_view name, std::string& reply) const {
    if (has_backend_ || name.empty()) {
        append_in_failed_block(reply);
        return;
    }
    append_error(reply, {.sqlstate = sqlstate::kInvalidCursorName,
                         .message = "portal \"" + std::string(name) + "\" does not exist"});
}

bool Session::idle_describe(const Frame& frame, Outbox& out) {
    const TargetRequest target = parse_describe(frame.body(), frame.body_is_whole());
    std::string& reply = out.scratch();
    const bool of_portal = target.kind == 'P' && target.name.empty() && local_portal_;
    const bool of_statement = target.kind == 'S' && local_statement(target.name) != nullptr;
    if (target.well_formed() && (of_portal || of_statement)) {
        if (of_statement) append_parameter_description(reply, {});
        append_no_data(reply);
        out.to_frontend(reply);
        return true;
    }
    if (block_.state() == VirtualBlock::State::failed) {
        if (describe_rowless(target, out)) return true;
        if (target.kind == 'S') {
            append_not_in_failed_block(target.name, reply);
        } else {
            append_no_portal(target.name, reply);
        }
        fail_batch(reply, out);
        return true;
    }
    return ask(false, out);
}

bool Session::idle_execute(const Frame& frame, Outbox& out) {
    const ExecuteRequest execute = parse_execute(frame.body(), frame.body_is_whole());
    std::string& reply = out.scratch();
    if (execute.well_formed() && execute.portal.empty() && local_portal_) {
        // Only a savepoint's text is kept, to be repeated to the backend.
        const std::string text = "SAVEPOINT " + local_portal_->name;
        const auto outcome =
            block_.execute(local_portal_->view(), text, warnings_for(settings_), reply);
        local_portal_.reset();
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
    if (block_.state() == VirtualBlock::State::failed) {
        append_no_portal(execute.portal, reply);
        fail_batch(reply, out);
        return true;
    }
    return ask(false, out);
}

bool Session::idle_close(const Frame& frame, Outbox& out) {
    const TargetRequest target = parse_close(frame.body(), frame.body_is_whole());
    std::string& reply = out.scratch();
    if (!target.well_formed()) {
        const std::string subtype = "invalid CLOSE message subtype " +
                                    std::to_string(static_cast<unsigned char>(target.kind));
        append_error(reply, {.sqlstate = sqlstate::kProtocolViolation,
                             .message = target.fault == MessageFault::invalid_subtype
                                            ? subtype
                                            : fault_message(target.fault)});
        fail_batch(reply, out);
        return true;
    }
    if (target.kind == 'P' && target.name.empty()) local_portal_.reset();
    if (target.kind == 'S') close_here(target.name);
    append_close_complete(reply);
    out.to_frontend(reply);
    return true;
}

}  // namespace pgb

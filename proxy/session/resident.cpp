// A resident session (`pooling: session`) keeps one backend from its login to its end. Its messages
// go there as they are, BEGIN included, and nothing it leaves behind concerns anyone else; only the
// permit is taken and given back with each transaction. With its backend it ends, as a direct
// connection would.

#include "protocol/error_response.h"
#include "protocol/request.h"
#include "protocol/rows.h"
#include "protocol/sqlstate.h"
#include "proxy/base/check.h"
#include "proxy/session/session.h"

namespace pgb {

void Session::become_resident(BackendBook& book, const LeaseRules& rules) {
    PGB_CHECK(state_ == SessionState::idle && !has_backend_);
    rules_ = rules;
    book_ = &book;
    has_backend_ = pin_reserved_ = true;
    pins_ = kPinResident;
}

// Outside a failed block of the proxy's making. A ping, which is an empty text, is never refused for
// a full budget: it goes to the backend in the lane of housekeeping.
bool Session::idle_resident(const Frame& frame, Outbox& out) {
    std::string& reply = out.scratch();
    switch (*frontend_type(frame.type)) {
        case FrontendType::sync:
            if (frame.size != kMessageHeaderSize) break;
            local_.answer(reply, out);
            return true;
        case FrontendType::flush:
            if (frame.size != kMessageHeaderSize) break;
            return true;
        case FrontendType::query: {
            const QueryRequest query = parse_query(frame.body(), frame.body_is_whole());
            if (!frame.body_is_whole() || !query.well_formed()) break;
            if (parse_transaction_statement(query.text).verb != TransactionVerb::empty) break;
            // A pool asks whether its connection lives, which PostgreSQL alone knows.
            house_kind_ = Housekeeping::setting;
            house_unit_ = HouseUnit::to_sync;
            return ask(false, out);
        }
        // Left over from a COPY that failed: PostgreSQL drops them without a word.
        case FrontendType::copy_data:
        case FrontendType::copy_done:
        case FrontendType::copy_fail: return true;
        case FrontendType::parse:
        case FrontendType::bind:
        case FrontendType::describe:
        case FrontendType::execute:
        case FrontendType::close:
        case FrontendType::function_call:
        case FrontendType::password:
        case FrontendType::terminate: break;
    }
    return ask(false, out);
}

// PostgreSQL drops the unnamed statement first, whatever becomes of the message.
void Session::forget_unnamed(const Frame& frame) {
    const bool is_parse = frame.type == static_cast<char>(FrontendType::parse);
    if (is_parse && !parse_parse(frame.body(), frame.body_is_whole()).name.empty()) return;
    if (!is_parse && frame.type != static_cast<char>(FrontendType::query)) return;
    statements_.drop_unnamed();
    owed_.unnamed_changed();
}

void Session::resume_resident(const Turn& turn, Outbox& out) {
    last_activity_ = turn.now;
    ledger_.clear();
    status_ = TransactionStatus::idle;
    own_work_ = OwnWork::none;
    local_.forget_portal();
    // What was answered in a failed block of the proxy's making, or to a ping, the backend has yet
    // to hear.
    std::string& prefix = out.scratch();
    owed_.settle(prefix, ledger_, statements_.unnamed().latest());
    state_ = SessionState::active;
    lease_.awaits_first_statement = true;
    out.to_backend(prefix);
}

// Known again when a Bind of it is refused, or comes in a failed block.
void Session::note_resident_statement(const Frame& frame, const ParseRequest& parse,
                                      const TransactionStatement& statement) {
    if (parse.name.empty()) {
        statements_.drop_unnamed();
        if (statement.verb != TransactionVerb::none) {
            statements_.set_unnamed(frame.bytes, StatementFacts(statement, {}));
        }
        return;
    }
    statements_.drop_name(parse.name);
    if (statement.verb != TransactionVerb::none &&
        statements_.has_room(parse.name, parse.text.size())) {
        statements_.set_name(parse.name, parse.text, StatementFacts(statement, {}));
    }
}

bool Session::lent_resident(const Frame& frame, Outbox& out) {
    switch (*frontend_type(frame.type)) {
        case FrontendType::query: {
            const QueryRequest query = parse_query(frame.body(), frame.body_is_whole());
            note_resident_text(query.text, frame.body_is_whole());
            statements_.drop_unnamed();
            book_->last_statement.note(query.text);
            forward(frame, Owed::query, out);
            ++lease_.sync_points;
            return true;
        }
        case FrontendType::parse: {
            const ParseRequest parse = parse_parse(frame.body(), frame.body_is_whole());
            const TransactionStatement statement =
                note_resident_text(parse.text, frame.body_is_whole());
            note_resident_statement(frame, parse, statement);
            book_->last_statement.note(parse.text);
            note_comments(parse.name, parse.text, frame.body_is_whole());
            forward(frame, Owed::parse, out);
            return true;
        }
        case FrontendType::bind: {
            const BindRequest bind = parse_bind(frame.body(), frame.body_is_whole());
            const StatementFacts* statement = local_.transaction_statement(bind.statement);
            if (statement != nullptr && commits(statement->verb)) lease_.commit_sent = true;
            // The text of a named one is not kept.
            if (!bind.statement.empty()) book_->last_statement.forget();
            forward(frame, Owed::bind, out);
            return true;
        }
        case FrontendType::describe: {
            const TargetRequest target = parse_describe(frame.body(), frame.body_is_whole());
            forward(frame, target.kind == 'S' ? Owed::describe_statement : Owed::describe_portal,
                    out);
            return true;
        }
        case FrontendType::execute: forward(frame, Owed::execute, out); return true;
        case FrontendType::close: {
            const TargetRequest target = parse_close(frame.body(), frame.body_is_whole());
            if (target.kind == 'S') statements_.drop_name(target.name);
            forward(frame, Owed::close, out);
            return true;
        }
        case FrontendType::function_call:
        case FrontendType::sync:
        case FrontendType::copy_done:
        case FrontendType::copy_fail:
        case FrontendType::flush:
        case FrontendType::copy_data:
        case FrontendType::password:
        case FrontendType::terminate: return lent_plain(frame, out);
    }
    return true;
}

TransactionStatement Session::note_resident_text(std::string_view text, bool whole) {
    const TransactionStatement statement =
        whole ? parse_transaction_statement(text) : TransactionStatement{};
    const bool several = text.find(';') != text.npos;
    if (!whole || commits(statement.verb) ||
        (statement.verb == TransactionVerb::none && several && may_commit(text))) {
        lease_.commit_sent = true;
    }
    return statement;
}

bool Session::end_resident(const Frame& frame, Outbox& out) {
    // Behind a COMMIT even PostgreSQL's own last word may not say enough: the table of outcomes does.
    if (!is_resident() || lease_.commit_sent || state_ == SessionState::winding_up) return false;
    out.to_frontend(frame.bytes);
    leave_lost_backend(Decision::close_backend, out);
    return true;
}

void Session::lose_resident(Decision how, Outbox& out) {
    const bool working = state_ == SessionState::active && lease_.worked;
    const bool unknown =
        working && (status_ == TransactionStatus::idle || lease_.commit_sent) && !ledger_.settled();
    if (backend_framer_.in_message() && backend_rest_ == Rest::forward) {
        // The frontend has half a message: nothing can be said behind it.
    } else if (unknown) {
        append_fatal_of_loss(sqlstate::kTransactionResolutionUnknown,
                             "the backend was lost after the statement was sent; whether it took "
                             "effect is not known",
                             out);
    } else {
        append_fatal_of_loss(sqlstate::kAdminShutdown, "the backend of this session was lost", out);
    }
    leave_lost_backend(how, out);
}

void Session::append_fatal_of_loss(std::string_view sqlstate, std::string_view message,
                                   Outbox& out) {
    std::string& text = out.scratch();
    append_error(
        text,
        {.severity = "FATAL", .sqlstate = sqlstate, .message = message, .routine = "backend_lost"});
    out.to_frontend(text);
}

void Session::leave_lost_backend(Decision how, Outbox& out) {
    out.decide(Decision::close_frontend);
    const bool waits = state_ == SessionState::queued || state_ == SessionState::waiting_backend;
    give_up_backend(how, out);
    if (waits) out.decide(Decision::leave_queue);
    state_ = SessionState::closed;
}

}  // namespace pgb

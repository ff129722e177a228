#include "proxy/admin/console/session.h"

#include <fmt/format.h>

#include <utility>

#include "protocol/error_response.h"
#include "protocol/message_type.h"
#include "protocol/request.h"
#include "protocol/rows.h"
#include "protocol/sqlstate.h"

namespace pgb {

namespace {

// The same for all of them, and never changed.
const HeadTable& heads() {
    static const HeadTable kTable = frontend_heads(ConsoleSession::kTextMax);
    return kTable;
}

}  // namespace

ConsoleReply refuse_command(std::string_view sqlstate, std::string message, std::string hint) {
    return {.fault = ConsoleFault{std::string(sqlstate), std::move(message), {}, std::move(hint)}};
}

ConsoleSession::ConsoleSession(Suggest suggest) : framer_(heads()), suggest_(suggest) {}

std::size_t ConsoleSession::on_bytes(std::string_view input, std::string& out) {
    std::size_t used = 0;
    while (!closed_ && !wanted_) {
        Frame frame;
        switch (framer_.next(input.substr(used), frame)) {
            case FrameStatus::need_more: return used;
            case FrameStatus::malformed: close_by("invalid message length", out); return used;
            case FrameStatus::frame: break;
        }
        used += frame.bytes.size();
        if (frame.first) take(frame, out);
    }
    return closed_ ? input.size() : used;
}

void ConsoleSession::take(const Frame& frame, std::string& out) {
    const std::optional<FrontendType> type = frontend_type(frame.type);
    if (!type || *type == FrontendType::password) {
        close_by(fmt::format("invalid frontend message type {}",
                             static_cast<unsigned>(static_cast<unsigned char>(frame.type))),
                 out);
        return;
    }
    if (*type == FrontendType::terminate) {
        closed_ = true;
    } else if (*type == FrontendType::sync) {
        sync(out);
    } else if (!discarding_) {
        take_message(frame, out);
    }
}

void ConsoleSession::take_message(const Frame& frame, std::string& out) {
    switch (static_cast<FrontendType>(frame.type)) {
        case FrontendType::query: query(frame, out); return;
        case FrontendType::parse: parse(frame, out); return;
        case FrontendType::bind: bind(frame, out); return;
        case FrontendType::describe: describe(frame, out); return;
        case FrontendType::execute: execute(frame, out); return;
        case FrontendType::close: close(frame, out); return;
        case FrontendType::function_call:
            fail(sqlstate::kFeatureNotSupported, "the console has no functions", out);
            discarding_ = false;
            ready(out);
            return;
        case FrontendType::flush:
        case FrontendType::copy_data:
        case FrontendType::copy_done:
        case FrontendType::copy_fail:
        // Taken care of before.
        case FrontendType::sync:
        case FrontendType::terminate:
        case FrontendType::password: return;
    }
}

void ConsoleSession::close_by(std::string_view message, std::string& out) {
    append_error(
        out, {.severity = "FATAL", .sqlstate = sqlstate::kProtocolViolation, .message = message});
    closed_ = true;
}

bool ConsoleSession::has_text(MessageFault fault, bool truncated, std::string& out) {
    if (fault != MessageFault::none) {
        fail(sqlstate::kProtocolViolation, std::string(fault_message(fault)), out);
        return false;
    }
    if (truncated) {
        fail(sqlstate::kProgramLimitExceeded, "the text is too long for the console", out);
        return false;
    }
    return true;
}

std::optional<ConsoleScript> ConsoleSession::read_script(std::string_view text, std::string& out) {
    ConsoleScript script = parse_console(text, suggest_);
    if (!script.fault) return script;
    fail(*script.fault, out);
    return std::nullopt;
}

void ConsoleSession::query(const Frame& frame, std::string& out) {
    const QueryRequest request = parse_query(frame.body(), frame.body_is_whole());
    in_script_ = true;
    script_.clear();
    portals_.erase("");
    if (!has_text(request.fault, request.truncated, out)) return;
    std::optional<ConsoleScript> script = read_script(request.text, out);
    if (!script) return;
    if (script->commands.empty()) append_empty_query_response(out);
    script_.assign(std::make_move_iterator(script->commands.begin()),
                   std::make_move_iterator(script->commands.end()));
    run_script(out);
}

void ConsoleSession::run_script(std::string& out) {
    while (in_script_ && !wanted_) {
        if (script_.empty()) {
            in_script_ = false;
            ready(out);
            return;
        }
        ConsoleCommand command = std::move(script_.front());
        script_.pop_front();
        run(std::move(command), out);
    }
}

bool ConsoleSession::is_refused(const ConsoleCommand& command, std::string& out) {
    if (status_ != TransactionStatus::failed) return false;
    using enum TransactionVerb;
    const TransactionVerb verb = command.transaction;
    const bool ends = verb == commit || verb == end_ || verb == rollback || verb == abort_ ||
                      verb == rollback_to || verb == commit_and_chain || verb == rollback_and_chain;
    if (ends) return false;
    fail(sqlstate::kInFailedSqlTransaction,
         "current transaction is aborted, commands ignored until end of transaction block", out);
    return true;
}

void ConsoleSession::run(ConsoleCommand command, std::string& out) {
    if (is_refused(command, out)) return;
    switch (command.verb) {
        case ConsoleVerb::nothing: append_empty_query_response(out); return;
        case ConsoleVerb::transaction: transaction(command.transaction, out); return;
        case ConsoleVerb::accepted: accepted(command.tag); break;
        case ConsoleVerb::constant: finish(command, {.rows = {{command.value}}}, out); return;
        case ConsoleVerb::show:
        case ConsoleVerb::set_workload:
        case ConsoleVerb::pause:
        case ConsoleVerb::resume:
        case ConsoleVerb::reload:
        case ConsoleVerb::drain:
        case ConsoleVerb::kill:
        case ConsoleVerb::cancel: wanted_ = std::move(command); return;
    }
    append_command_complete(out, command.tag);
}

// Nothing can be undone, so all that is kept is what drivers are told of the block.
void ConsoleSession::transaction(TransactionVerb verb, std::string& out) {
    using enum TransactionVerb;
    std::string_view tag = command_tag(verb);
    switch (verb) {
        case commit:
        case end_:
            if (status_ == TransactionStatus::failed) tag = "ROLLBACK";
            status_ = TransactionStatus::idle;
            break;
        case rollback:
        case abort_: status_ = TransactionStatus::idle; break;
        case begin:
        case start_transaction:
        case commit_and_chain:
        case rollback_and_chain:
        case rollback_to: status_ = TransactionStatus::in_block; break;
        case none:
        case empty:
        case savepoint:
        case release:
        case set_transaction:
        case prepare_transaction:
        case commit_prepared:
        case rollback_prepared: break;
    }
    append_command_complete(out, tag);
}

void ConsoleSession::accepted(const std::string& tag) {
    if (tag == "DISCARD ALL" || tag == "DEALLOCATE ALL") statements_.clear();
}

void ConsoleSession::answer(const ConsoleReply& reply, std::string& out) {
    const ConsoleCommand command = std::move(*wanted_);
    wanted_.reset();
    for (const ConsoleReply::Notice& notice : reply.notices) {
        append_notice(out, {.severity = notice.severity,
                            .sqlstate = notice.severity == "WARNING" ? "01000" : "00000",
                            .message = notice.message});
    }
    if (reply.fault) {
        fail(*reply.fault, out);
    } else {
        finish(command, reply, out);
    }
    run_script(out);
}

void ConsoleSession::finish(const ConsoleCommand& command, const ConsoleReply& reply,
                            std::string& out) {
    if (!in_script_ && !command.columns.empty()) {
        Portal& portal = portals_.find(executing_)->second;
        portal.rows = reply.rows;
        portal.sent = 0;
        send_rows(portal, out);
        return;
    }
    if (!command.columns.empty()) {
        append_row_description(out, command.columns, {});
        for (const Row& row : reply.rows) append_data_row(out, row, {});
    }
    append_command_complete(out, command.tag);
}

void ConsoleSession::fail(std::string_view sqlstate, std::string message, std::string& out) {
    fail(ConsoleFault{std::string(sqlstate), std::move(message)}, out);
}

void ConsoleSession::fail(const ConsoleFault& fault, std::string& out) {
    append_error(out, {.sqlstate = fault.sqlstate,
                       .message = fault.message,
                       .detail = fault.detail,
                       .hint = fault.hint,
                       .routine = "console"});
    if (status_ == TransactionStatus::in_block) status_ = TransactionStatus::failed;
    if (in_script_) {
        in_script_ = false;
        script_.clear();
        ready(out);
    } else {
        discarding_ = true;
    }
}

void ConsoleSession::ready(std::string& out) { append_ready_for_query(out, status_); }

}  // namespace pgb

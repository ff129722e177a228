// The extended protocol of the console: statements, portals, and batches that end at a Sync.

#include <fmt/format.h>

#include "protocol/cursor.h"
#include "protocol/request.h"
#include "protocol/rows.h"
#include "protocol/sqlstate.h"
#include "protocol/writer.h"
#include "proxy/admin/console/session.h"

namespace pgb {

namespace {

// The body is well formed and has no parameters: "Bind" in the manual.
ResultFormats result_formats(std::string_view body) {
    Cursor cursor(body);
    cursor.cstring();
    cursor.cstring();
    for (std::uint16_t left = cursor.u16(); left > 0 && !cursor.failed(); --left) cursor.u16();
    cursor.u16();
    ResultFormats formats;
    for (std::uint16_t left = cursor.u16(); left > 0 && !cursor.failed(); --left) {
        formats.is_binary.push_back(cursor.u16() != 0);
    }
    return formats;
}

}  // namespace

void ConsoleSession::parse(const Frame& frame, std::string& out) {
    const ParseRequest request = parse_parse(frame.body(), frame.body_is_whole());
    if (!has_text(request.fault, request.truncated, out)) return;
    if (request.parameter_type_count > 0) {
        fail(sqlstate::kFeatureNotSupported, "the console takes no parameters", out);
        return;
    }
    std::optional<ConsoleScript> script = read_script(request.text, out);
    if (!script) return;
    if (script->commands.size() > 1) {
        fail(sqlstate::kSyntaxError, "cannot insert multiple commands into a prepared statement",
             out);
        return;
    }
    if (script->commands.empty()) script->commands.emplace_back();
    if (is_refused(script->commands[0], out)) return;
    const std::string name(request.name);
    if (!name.empty() && statements_.contains(name)) {
        fail(sqlstate::kDuplicatePreparedStatement,
             "prepared statement \"" + name + "\" already exists", out);
        return;
    }
    if (statements_.size() >= kNamesMax) {
        fail(sqlstate::kProgramLimitExceeded, "too many prepared statements", out);
        return;
    }
    statements_.insert_or_assign(name, std::move(script->commands[0]));
    append_parse_complete(out);
}

const ConsoleCommand* ConsoleSession::find_statement(std::string_view name, std::string& out) {
    const auto found = statements_.find(name);
    if (found != statements_.end()) return &found->second;
    fail(sqlstate::kInvalidSqlStatementName,
         name.empty() ? "unnamed prepared statement does not exist"
                      : fmt::format("prepared statement \"{}\" does not exist", name),
         out);
    return nullptr;
}

ConsoleSession::Portal* ConsoleSession::find_portal(std::string_view name, std::string& out) {
    const auto found = portals_.find(name);
    if (found != portals_.end()) return &found->second;
    fail(sqlstate::kInvalidCursorName, fmt::format("portal \"{}\" does not exist", name), out);
    return nullptr;
}

void ConsoleSession::bind(const Frame& frame, std::string& out) {
    const BindRequest request = parse_bind(frame.body(), frame.body_is_whole());
    if (!request.well_formed()) {
        fail(sqlstate::kProtocolViolation, std::string(fault_message(request.fault)), out);
        return;
    }
    const ConsoleCommand* command = find_statement(request.statement, out);
    if (command == nullptr) return;
    if (request.parameter_count > 0 || request.truncated) {
        fail(sqlstate::kProtocolViolation,
             fmt::format("bind message supplies {} parameters, but prepared statement \"{}\" "
                         "requires 0",
                         request.parameter_count, request.statement),
             out);
        return;
    }
    if (is_refused(*command, out)) return;
    ResultFormats formats = result_formats(frame.body());
    if (!formats.fits(command->columns.size())) {
        fail(sqlstate::kProtocolViolation,
             fmt::format("bind message has {} result formats but query has {} columns",
                         formats.is_binary.size(), command->columns.size()),
             out);
        return;
    }
    if (portals_.size() >= kNamesMax && !portals_.contains(request.portal)) {
        fail(sqlstate::kProgramLimitExceeded, "too many portals", out);
        return;
    }
    portals_.insert_or_assign(std::string(request.portal), Portal{*command, std::move(formats)});
    append_bind_complete(out);
}

void ConsoleSession::describe(const Frame& frame, std::string& out) {
    const TargetRequest request = parse_describe(frame.body(), frame.body_is_whole());
    if (!request.well_formed()) {
        fail(sqlstate::kProtocolViolation, std::string(fault_message(request.fault)), out);
        return;
    }
    Columns columns;
    ResultFormats formats;
    if (request.kind == 'S') {
        const ConsoleCommand* command = find_statement(request.name, out);
        if (command == nullptr) return;
        append_parameter_description(out, {});
        columns = command->columns;
    } else {
        const Portal* portal = find_portal(request.name, out);
        if (portal == nullptr) return;
        columns = portal->command.columns;
        formats = portal->formats;
    }
    if (columns.empty()) {
        append_no_data(out);
    } else {
        append_row_description(out, columns, formats);
    }
}

void ConsoleSession::execute(const Frame& frame, std::string& out) {
    const ExecuteRequest request = parse_execute(frame.body(), frame.body_is_whole());
    if (!request.well_formed()) {
        fail(sqlstate::kProtocolViolation, std::string(fault_message(request.fault)), out);
        return;
    }
    Portal* portal = find_portal(request.portal, out);
    if (portal == nullptr) return;
    executing_ = request.portal;
    row_max_ = request.row_max;
    if (!portal->has_run) {
        portal->has_run = true;
        run(portal->command, out);
    } else if (!portal->command.columns.empty()) {
        send_rows(*portal, out);
    } else {
        fail(sqlstate::kObjectNotInPrerequisiteState,
             fmt::format("portal \"{}\" cannot be run", executing_), out);
    }
}

void ConsoleSession::send_rows(Portal& portal, std::string& out) {
    const std::size_t left = portal.rows.size() - portal.sent;
    const bool is_bounded = row_max_ > 0 && static_cast<std::size_t>(row_max_) < left;
    const std::size_t end = portal.sent + (is_bounded ? static_cast<std::size_t>(row_max_) : left);
    for (; portal.sent < end; ++portal.sent) {
        append_data_row(out, portal.rows[portal.sent], portal.formats);
    }
    if (is_bounded) {
        MessageWriter writer(out);
        writer.begin(BackendType::portal_suspended).end();
    } else {
        append_command_complete(out, portal.command.tag);
    }
}

void ConsoleSession::close(const Frame& frame, std::string& out) {
    const TargetRequest request = parse_close(frame.body(), frame.body_is_whole());
    if (!request.well_formed()) {
        fail(sqlstate::kProtocolViolation, std::string(fault_message(request.fault)), out);
        return;
    }
    if (request.kind == 'S') {
        statements_.erase(std::string(request.name));
    } else {
        portals_.erase(std::string(request.name));
    }
    append_close_complete(out);
}

void ConsoleSession::sync(std::string& out) {
    discarding_ = false;
    // A portal lives as long as its transaction.
    if (status_ == TransactionStatus::idle) portals_.clear();
    ready(out);
}

}  // namespace pgb

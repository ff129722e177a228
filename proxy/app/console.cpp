#include "proxy/app/console.h"

#include <algorithm>
#include <array>

#include "config/suggest.h"
#include "protocol/sqlstate.h"
#include "proxy/app/database.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"

namespace pgb {

namespace {

// As many as a person reads.
constexpr std::size_t kHoldersShown = 200;

std::string_view sqlstate_of(LiveChangeReport::Outcome outcome) {
    switch (outcome) {
        case LiveChangeReport::Outcome::unknown_workload: return sqlstate::kUndefinedObject;
        case LiveChangeReport::Outcome::unknown_key: return sqlstate::kSyntaxError;
        case LiveChangeReport::Outcome::bad_value: return sqlstate::kInvalidParameterValue;
        case LiveChangeReport::Outcome::done:
        case LiveChangeReport::Outcome::planned: break;
    }
    return sqlstate::kInternalError;
}

void note_changes(const std::vector<ReloadReport::Change>& changes, ConsoleReply& reply) {
    for (const ReloadReport::Change& change : changes) {
        std::string text = change.key + ": " + change.before + " -> " + change.after;
        if (!change.in_force) text += " (restart needed)";
        reply.notices.push_back({change.in_force ? "NOTICE" : "WARNING", std::move(text)});
    }
    if (changes.empty()) reply.notices.push_back({"NOTICE", "nothing has changed"});
}

}  // namespace

bool Consoles::serves(std::string_view database) const {
    return database == server_.config().admin.console_database;
}

void Consoles::aim_proof(LoginRequest& request) const {
    const std::string& name = server_.config().databases.front().name;
    // Where PostgreSQL's own tools look when they are told none.
    request.database = name == "*" ? "postgres" : name;
    request.parameters.clear();
}

bool Consoles::may_change(const std::string& user, bool is_authenticated) const {
    const std::vector<std::string>& users = server_.config().admin.console_users;
    return is_authenticated && std::find(users.begin(), users.end(), user) != users.end();
}

void Consoles::begin(std::uint64_t id, const std::string& user, bool is_authenticated) {
    desks_.emplace(id,
                   Desk{ConsoleSession(config::suggest), user, may_change(user, is_authenticated)});
}

void Consoles::end(std::uint64_t id) {
    const auto found = desks_.find(id);
    if (found == desks_.end()) return;
    undo_pause(found->second);
    desks_.erase(found);
}

std::optional<ConsoleReply> Consoles::carry_out(const FrontendConnection& by,
                                                ConsoleCommand command) {
    if (!command.changes_something()) return show(command.view);
    const Desk& desk = desks_.at(by.id());
    server_.log().info("console_command",
                       {{"command", command.tag},
                        {"name", command.name},
                        {"client_id", static_cast<std::int64_t>(command.client)},
                        {"user", desk.user},
                        {"allowed", std::string_view(desk.may_change ? "yes" : "no")}});
    if (!desk.may_change) return refuse_change(desk);
    return change(by, command);
}

ConsoleReply Consoles::refuse_change(const Desk& desk) const {
    return refuse_command(
        sqlstate::kInsufficientPrivilege,
        "permission denied: user \"" + shown(desk.user) + "\" may look and change nothing here",
        "Changes are for users of `admin.console_users` who have authenticated; "
        "`trust` over TCP does not count.");
}

std::optional<ConsoleReply> Consoles::change(const FrontendConnection& by,
                                             const ConsoleCommand& command) {
    Desk& desk = desks_.at(by.id());
    switch (command.verb) {
        case ConsoleVerb::set_workload: return set_workload(desk, command);
        case ConsoleVerb::pause: return pause(desk, command);
        case ConsoleVerb::resume: return resume(command);
        case ConsoleVerb::reload: return reload();
        case ConsoleVerb::drain: return drain();
        case ConsoleVerb::kill:
        case ConsoleVerb::cancel: return end_client(command);
        // The session answers these by itself, and show() is no change.
        case ConsoleVerb::nothing:
        case ConsoleVerb::transaction:
        case ConsoleVerb::accepted:
        case ConsoleVerb::constant:
        case ConsoleVerb::show: break;
    }
    return ConsoleReply{};
}

ConsoleReply Consoles::set_workload(const Desk& desk, const ConsoleCommand& command) {
    const LiveChangeReport report = server_.live_changes().change(
        {command.name, command.values}, Trial::no, {"console", desk.user});
    if (report.is_refused()) {
        const bool is_lost = report.outcome == LiveChangeReport::Outcome::unknown_workload;
        std::string hint = is_lost ? "SHOW WORKLOADS lists them." : "";
        if (!report.suggestion.empty()) hint = "Did you mean " + report.suggestion + '?';
        return refuse_command(sqlstate_of(report.outcome), report.message, std::move(hint));
    }
    ConsoleReply reply;
    note_changes(report.changes, reply);
    for (const std::string& warning : report.warnings) {
        reply.notices.push_back({"WARNING", warning});
    }
    return reply;
}

std::vector<Database*> Consoles::databases_named(const std::string& name) const {
    std::vector<Database*> found;
    for (const auto& database : server_.databases_) {
        if (name.empty() || database->entry().name == name) found.push_back(database.get());
    }
    return found;
}

ConsoleReply Consoles::no_such_database(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const auto& database : server_.databases_) names.push_back(database->entry().name);
    const std::string meant = config::suggest(name, names);
    return refuse_command(sqlstate::kInvalidCatalogName,
                          "there is no entry \"" + shown(name) + "\" of `databases`",
                          meant.empty() ? "SHOW POOLS lists them." : "Did you mean " + meant + '?');
}

std::optional<ConsoleReply> Consoles::pause(Desk& desk, const ConsoleCommand& command) {
    desk.pausing = databases_named(command.name);
    if (desk.pausing.empty()) return no_such_database(command.name);
    for (Database* database : desk.pausing) {
        if (database->pool().is_paused()) continue;
        database->pool().pause();
        desk.paused_here.push_back(database);
    }
    // The end of this turn closes what is idle; look() sees when all is quiet.
    server_.loop().again();
    return std::nullopt;
}

ConsoleReply Consoles::resume(const ConsoleCommand& command) {
    const std::vector<Database*> named = databases_named(command.name);
    if (named.empty()) return no_such_database(command.name);
    ConsoleReply reply;
    bool any = false;
    for (Database* database : named) {
        any = any || database->pool().is_paused();
        database->pool().resume();
    }
    if (!any) reply.notices.push_back({"NOTICE", "nothing was paused"});
    server_.loop().again();
    return reply;
}

void Consoles::undo_pause(Desk& desk) {
    for (Database* database : desk.paused_here) database->pool().resume();
    desk.pausing.clear();
    desk.paused_here.clear();
}

void Consoles::cancel(std::uint64_t id) {
    Desk& desk = desks_.at(id);
    if (!desk.waits()) return;
    undo_pause(desk);
    server_.loop().again();
    server_.find_frontend(id)->on_console_answer(
        refuse_command(sqlstate::kQueryCanceled, "canceling statement due to user request"));
}

void Consoles::look() {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, desk] : desks_) {
        if (desk.waits()) ids.push_back(id);
    }
    for (const std::uint64_t id : ids) {
        const auto found = desks_.find(id);
        if (found == desks_.end()) continue;
        Desk& desk = found->second;
        const auto all = [&desk](auto holds) {
            return std::all_of(desk.pausing.begin(), desk.pausing.end(), holds);
        };
        ConsoleReply reply;
        if (!all([](Database* database) { return database->pool().is_paused(); })) {
            reply = refuse_command(sqlstate::kQueryCanceled, "RESUME has ended the pause");
        } else if (!all([](Database* database) { return database->pool().is_quiet(); })) {
            continue;
        }
        // From here on it stays paused, whoever leaves.
        desk.pausing.clear();
        desk.paused_here.clear();
        server_.find_frontend(id)->on_console_answer(reply);
    }
    if (!drain_asked_) return;
    drain_asked_ = false;
    if (!server_.is_draining()) server_.drain();
}

ConsoleReply Consoles::reload() {
    const ReloadReport report = server_.reload_file("console");
    if (report.outcome == ReloadReport::Outcome::no_file) {
        return refuse_command(sqlstate::kObjectNotInPrerequisiteState,
                              "the program was started without a file");
    }
    if (report.outcome == ReloadReport::Outcome::refused) {
        ConsoleReply reply = refuse_command(sqlstate::kInvalidParameterValue, report.message,
                                            "Nothing has changed.");
        for (const ReloadReport::Mistake& mistake : report.mistakes) {
            if (!reply.fault->detail.empty()) reply.fault->detail += '\n';
            reply.fault->detail += mistake.text;
        }
        return reply;
    }
    ConsoleReply reply;
    note_changes(report.changes, reply);
    return reply;
}

// After its answer has been sent: the drain ends the console's sessions, too.
ConsoleReply Consoles::drain() {
    drain_asked_ = true;
    server_.loop().again();
    return {};
}

ConsoleReply Consoles::end_client(const ConsoleCommand& command) {
    FrontendConnection* client = server_.find_frontend(command.client);
    if (client == nullptr || client->is_dead()) {
        return refuse_command(sqlstate::kUndefinedObject,
                              "there is no client " + std::to_string(command.client),
                              "SHOW CLIENTS lists them, in the column id.");
    }
    if (command.verb == ConsoleVerb::kill) {
        client->on_kill();
    } else {
        client->on_cancel_request();
    }
    return {};
}

ConsoleReply Consoles::show(ConsoleView view) const {
    switch (view) {
        case ConsoleView::workloads:
            return {.rows = workload_rows(server_.make_snapshot(), extras())};
        case ConsoleView::holders:
            return {.rows = holder_rows(server_.holders(std::nullopt, kHoldersShown))};
        case ConsoleView::waiters: return {.rows = waiters()};
        case ConsoleView::pools: return {.rows = pool_rows(server_.make_snapshot(), extras())};
        case ConsoleView::backends: return {.rows = backends()};
        case ConsoleView::clients: return {.rows = clients()};
        case ConsoleView::pins: return {.rows = pins()};
        case ConsoleView::stats: return {.rows = stat_rows(server_.make_snapshot())};
        case ConsoleView::config: return {.rows = configuration()};
        case ConsoleView::version: return {.rows = version_rows(server_.make_snapshot().version)};
        case ConsoleView::help: return {.rows = help_rows()};
    }
    return {};
}

}  // namespace pgb

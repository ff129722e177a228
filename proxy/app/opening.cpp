// How the backends of an entry of `databases` are opened, and what becomes of the attempts. Everything
// here belongs to Database.

#include "protocol/sqlstate.h"
#include "proxy/app/database.h"
#include "proxy/app/server.h"
#include "proxy/base/check.h"

namespace pgb {

namespace {

// Trouble that another attempt would meet again: wrong credentials, a database that is not there, a
// startup parameter PostgreSQL does not take. The server answered this very login; only what it says
// about its own state may pass: too busy, starting or stopping, broken. Without the server's words
// there is a code only if it asked for a password that nobody has, or a parameter has no name.
bool is_permanent(std::string_view sqlstate) {
    const std::string_view of_class = sqlstate::sqlstate_class(sqlstate);
    return !of_class.empty() && of_class != "53" && of_class != "57" && of_class != "58" &&
           of_class != "08" && of_class != "XX";
}

}  // namespace

void Database::connect(const PoolAction& action) {
    const GroupFacts& group = facts(action.group);
    ConnectRequest request = connect_request(group.database, group.startup_parameters);
    request.id = server_.new_connect(*this, action.backend);
    request.user = fixed_user_.empty() ? group.user : "";
    request.password = backend_password(group.user);
    server_.connector().connect(std::move(request));
}

ConnectRequest Database::proof_request(const LoginRequest& request) const {
    ConnectRequest proof = connect_request(request.database, request.parameters);
    proof.user = request.user;
    return proof;
}

ConnectRequest Database::connect_request(const std::string& database,
                                         const ParameterList& parameters) const {
    const config::Limits& limits = server_.config().limits;
    return {.id = 0,
            .conninfo = entry_.conninfo,
            .database = fixed_database_.empty() ? database : "",
            .user = {},
            .startup_parameters = parameters,
            .timeout = entry_.connect_timeout,
            .tcp = keepalive_options(limits.tcp_keepalive, limits.tcp_user_timeout),
            .password = {}};
}

// What a client has proved is newer than any file.
Secret Database::backend_password(const std::string& user) const {
    if (!fixed_user_.empty()) return {};
    Secret proved = proving_.password_of(user);
    return proved.empty() ? server_.doorkeeper().password_of(user) : proved;
}

void Database::on_connected(BackendId id, ConnectedBackend connected) {
    const Backend* place = pool_.find(id);
    PGB_CHECK(place != nullptr);
    const GroupId group = place->group->id;
    if (connected.used_password) proving_.note_opened(facts(group).user);
    backends_[id.slot] =
        std::make_unique<BackendConnection>(server_, *this, id, group, std::move(connected.link));
    ReportedValues& reported = backends_[id.slot]->book().reported;
    for (const auto& [name, value] : connected.parameters) reported.set(name, value);
    note_reported(*backends_[id.slot]);
    pool_.on_connected(id, server_.now());
    note_reachability();
}

void Database::adopt(GroupId group, ConnectedBackend connected) {
    // One that logged in as the client is none of a pool whose backends all log in as another.
    if (!opens_as_client()) return;
    const std::optional<BackendId> place = pool_.adopt(group);
    if (place) return on_connected(*place, std::move(connected));
    ReportedValues reported;
    for (const auto& [name, value] : connected.parameters) reported.set(name, value);
    note_greeting(facts(group), reported);
}

void Database::note_reported(BackendConnection& backend) {
    BackendBook& book = backend.book();
    if (book.settings.empty()) note_greeting(facts(backend.group()), book.reported);
}

void Database::note_greeting(GroupFacts& group, ReportedValues& reported) {
    if (reported.joins(group.reported)) return;
    group.reported = reported;
    group.greeting.clear();
    reported.for_each([&group](std::string_view name, std::string_view value) {
        group.greeting.emplace_back(name, value);
    });
}

void Database::on_connect_failed(BackendId id, const ConnectFailure& failure) {
    note_trouble(failure);
    const Backend* place = pool_.find(id);
    PGB_CHECK(place != nullptr);
    if (failure.from_server && failure.sqlstate == sqlstate::kInvalidPassword) {
        proving_.note_refused(facts(place->group->id).user);
    }
    Pool::Actions actions;
    ConnectTrouble trouble{.sqlstate = failure.sqlstate,
                           .message = failure.message,
                           .permanent = is_permanent(failure.sqlstate),
                           .detail = failure.detail,
                           .hint = failure.hint};
    pool_.on_connect_failed(id, std::move(trouble), server_.now(), actions);
    note_reachability();
    carry_out(actions);
}

}  // namespace pgb

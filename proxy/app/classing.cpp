// The workload of each transaction. What a login decides about it is looked at once; what may change
// is the session's application_name, the workload that it asks for by name, and the text of the
// statement that begins the transaction. Everything here belongs to FrontendConnection.

#include <algorithm>

#include "protocol/error_response.h"
#include "protocol/sql_name.h"
#include "protocol/startup.h"
#include "protocol/workload_setting.h"
#include "proxy/app/frontend_connection.h"
#include "proxy/app/server.h"
#include "proxy/io/socket_address.h"

namespace pgb {

namespace {

using Word = LoginWords::Word;

constexpr std::string_view kApplicationName = "application_name";

// In PostgreSQL's order: `options` first, then what the startup packet names by itself.
std::string choice_at_login(const LoginRequest& request) {
    std::string chosen;
    for (const auto& [name, value] : request.parameters) {
        if (name != "options") continue;
        for (const auto& [option, given] : parse_options(value).value_or(std::vector<Setting>())) {
            if (is_in_any_case(option, kWorkloadSetting)) chosen = given;
        }
    }
    for (const auto& [name, value] : request.parameters) {
        if (is_in_any_case(name, kWorkloadSetting)) chosen = value;
    }
    return chosen;
}

std::uint32_t number(std::size_t workload) { return static_cast<std::uint32_t>(workload); }

// All but SET is told by the first byte or two.
bool may_be_set(std::string_view text) {
    if (text.size() < 4) return false;
    const char c = text[0];
    if (c != 's' && c != 'S') return c == '/' || c == '-' || c <= ' ';
    return (text[1] == 'e' || text[1] == 'E') && (text[2] == 't' || text[2] == 'T');
}

}  // namespace

std::uint32_t FrontendConnection::workload_at_login() const {
    const LoginRequest& request = login_->request();
    return number(server_.rules().workload_of({.database = request.database,
                                               .user = request.user,
                                               .application_name = request.application_name,
                                               .listener = door_.name,
                                               .client = address_host(peer_)}));
}

void FrontendConnection::remember_login() {
    const LoginRequest& request = login_->request();
    choice_.words = LoginWords({request.database, request.user, request.application_name,
                                session_.told(kApplicationName), choice_at_login(request)});
    follow_rules();
}

// Where no rule of the session's pooling is left, the others serve it: a permit is for a transaction
// in either.
void FrontendConnection::follow_rules() {
    const ConfigInForce& rules = server_.rules();
    const config::Subject login{.database = choice_.words[Word::database],
                                .user = choice_.words[Word::user],
                                .application_name = choice_.words[Word::application_name],
                                .listener = door_.name,
                                .client = address_host(peer_)};
    choice_.generation = rules.generation();
    ConfigInForce::Candidates candidates = rules.candidates(login, pooling_);
    choice_.at_login = number(rules.choose(candidates, login).value_or(rules.workload_of(login)));
    choice_.usual = number(rules.choose(candidates, subject()).value_or(choice_.at_login));
    choice_.candidates.reset();
    if (rules.has_choice()) {
        choice_.candidates = std::make_unique<ConfigInForce::Candidates>(std::move(candidates));
    }
}

config::Subject FrontendConnection::subject() const {
    const bool as_at_login = choice_.told() == choice_.words[Word::told];
    return {
        .database = {},
        .user = {},
        .application_name = as_at_login ? choice_.words[Word::application_name] : choice_.told(),
        .listener = {},
        .client = {}};
}

std::optional<std::size_t> FrontendConnection::choose(const config::Subject& subject) const {
    if (choice_.candidates == nullptr) return std::nullopt;
    return server_.rules().choose(*choice_.candidates, subject);
}

// While a session keeps its backend its name counts as it was when it took it.
void FrontendConnection::note_name() {
    if (backend_ != nullptr || !server_.rules().looks_at_application_name()) return;
    const std::string_view told = session_.told(kApplicationName);
    if (told == choice_.told()) return;
    choice_.change().told = told;
    choice_.usual = number(choose(subject()).value_or(choice_.at_login));
}

void FrontendConnection::choose_workload() {
    // A transaction stays where it was admitted.
    if (permit_.held()) return;
    if (choice_.generation != server_.rules().generation()) follow_rules();
    if (!server_.rules().has_choice()) {
        workload_ = choice_.usual;
        return;
    }
    note_name();
    if (is_usual(server_.outbox().subject().text)) {
        workload_ = choice_.usual;
        return;
    }
    const std::string chosen = chosen_by(server_.outbox().subject().text);
    workload_ = workload_for(chosen);
    if (chosen != choice_.last_refused() && !choice_.last_refused().empty()) {
        choice_.change().last_refused.clear();
    }
    if (!chosen.empty()) tell_choice(chosen);
}

// Nothing was ever set, by no name was anything chosen, and no rule looks at texts.
bool FrontendConnection::is_usual(std::string_view text) const {
    return !server_.rules().looks_at_text() && !session_->has_settings() &&
           choice_.words[Word::chosen].empty() && choice_.last_refused().empty() &&
           !may_be_set(text);
}

void FrontendConnection::ask_workload() {
    if (choice_.generation != server_.rules().generation()) follow_rules();
    session_->on_workload(workload_for(chosen_by(server_.outbox().subject().text)) == workload_);
}

// A SET that begins a transaction already counts for it: so SET LOCAL chooses for its block, and
// nobody has to get through a full lane to leave it.
std::string FrontendConnection::chosen_by(std::string_view text) const {
    if (may_be_set(text)) {
        if (auto value = read_workload_setting(text)) return std::move(*value);
    }
    const std::string_view set = session_->text_that_set(kWorkloadSetting);
    return set.empty() ? std::string(choice_.words[Word::chosen])
                       : read_workload_setting(set).value_or(std::string());
}

std::uint32_t FrontendConnection::workload_for(std::string_view chosen) const {
    if (chosen.empty() && !server_.rules().looks_at_text()) return choice_.usual;
    config::Subject subject = this->subject();
    subject.text = server_.outbox().subject().text;
    subject.whole = server_.outbox().subject().whole;
    subject.chosen = chosen;
    return number(choose(subject).value_or(choice_.at_login));
}

// Once for each choice: a name that is wrong, or not for this client, would else look as if it had
// been obeyed.
void FrontendConnection::tell_choice(const std::string& chosen) {
    const std::string& given = server_.config().workloads[workload_].name;
    if (given == chosen || choice_.last_refused() == chosen) return;
    choice_.change().last_refused = chosen;
    if (!session_->wants_warnings()) return;
    std::string& notice = server_.outbox().scratch();
    append_notice(notice, {.severity = "WARNING",
                           .sqlstate = "01000",
                           .message = "workload \"" + chosen + "\" cannot be chosen here",
                           .detail = "There is no such workload, or its other conditions do not "
                                     "hold. The transaction runs in \"" +
                                     given + "\"."});
    server_.outbox().to_frontend(notice);
}

}  // namespace pgb

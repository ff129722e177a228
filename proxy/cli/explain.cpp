#include "proxy/cli/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "config/classify.h"
#include "config/network.h"
#include "protocol/query_tags.h"
#include "protocol/workload_setting.h"
#include "proxy/cli/load_config.h"
#include "proxy/session/housekeeping_texts.h"
#include "proxy/session/reset_text.h"

namespace pgb {

namespace {

using config::Condition;

std::string quote(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string why_tag(const config::Match& match, const config::Subject& subject) {
    const QueryTags tags(subject.text);
    for (const auto& [key, wanted] : match.tag) {
        const auto found = tags.value(key);
        if (!found) return fmt::format("the statement has no tag {}='{}'", key, wanted);
        if (*found != wanted) {
            return fmt::format("the statement's tag {} is '{}', not '{}'", key, *found, wanted);
        }
    }
    return "";
}

std::string why(Condition condition, const config::Match& match, const config::Subject& subject) {
    const auto glob = [](std::string_view name, std::string_view value,
                         const std::optional<std::string>& pattern) {
        return std::string(name) + " " + quote(value) + " does not match " +
               quote(pattern.value_or(""));
    };
    switch (condition) {
        case Condition::database: return glob("database", subject.database, match.database);
        case Condition::user: return glob("user", subject.user, match.user);
        case Condition::listener:
            return "listener " + quote(subject.listener) + " is not " + quote(*match.listener);
        case Condition::client:
            return subject.client.empty()
                       ? "a client of a Unix socket is in no network"
                       : "client " + std::string(subject.client) + " is not in " + *match.client;
        case Condition::application_name:
            return glob("application_name", subject.application_name, match.application_name);
        case Condition::tag: return why_tag(match, subject);
        case Condition::query:
            return (subject.text.empty() ? "there is no statement to match "
                                         : "the statement does not match ") +
                   quote(*match.query);
    }
    return "";
}

/// One question about one file.
class Explanation {
public:
    Explanation(const config::Config& config, const config::Subject& subject, std::ostream& out)
        : config_(config), classifier_(config), subject_(subject), out_(out) {}

    void print() {
        config::Subject login = subject_;
        login.text = login.chosen = {};
        pooling_ = config_.workloads[classifier_.workload_of(login)].pooling;
        print_subject();
        if (pooling_ == config::Pooling::transaction) print_housekeeping();
        if (!subject_.chosen.empty() && by_name()) return;
        for (std::size_t i = 0; i < config_.workloads.size(); ++i) {
            const bool yes = rule(i, false);
            if (yes) return conclude(config_.workloads[i].name);
        }
        const std::size_t at_login = classifier_.workload_of(login);
        out_ << "no rule is left: as at its login\n";
        conclude(config_.workloads[at_login].name);
    }

private:
    void print_subject() {
        out_ << "database " << quote(subject_.database) << ", user " << quote(subject_.user)
             << ", application_name " << quote(subject_.application_name) << ", listener "
             << quote(subject_.listener) << ", client "
             << (subject_.client.empty() ? std::string_view("of a Unix socket") : subject_.client)
             << "\n";
    }

    // A choice of a workload that stands in the text counts for the text itself.
    void print_housekeeping() {
        if (read_workload_setting(subject_.text)) return;
        if (ResetText::read(subject_.text)) {
            out_ << "housekeeping, answered by the proxy unless the session keeps a backend; "
                    "then:\n";
            return;
        }
        switch (housekeeping_of(subject_.text)) {
            case Housekeeping::no: return;
            case Housekeeping::alone:
            case Housekeeping::also_in_virtual_block:
            case Housekeeping::ping:
                out_ << "housekeeping, in a lane of its own; behind other work in a block:\n";
                return;
            case Housekeeping::setting:
                out_ << "housekeeping, in a lane of its own while the workload is full:\n";
                return;
        }
    }

    bool by_name() {
        for (std::size_t i = 0; i < config_.workloads.size(); ++i) {
            if (config_.workloads[i].name != subject_.chosen) continue;
            out_ << kWorkloadSetting << " asks for it by name:\n";
            if (rule(i, true)) {
                conclude(subject_.chosen);
                return true;
            }
            out_ << "so the rules decide:\n";
            return false;
        }
        out_ << kWorkloadSetting << " asks for " << quote(subject_.chosen)
             << ", which is no workload, so the rules decide:\n";
        return false;
    }

    bool rule(std::size_t index, bool by_name) {
        const config::Workload& workload = config_.workloads[index];
        out_ << "  " << index + 1 << ". " << workload.name << ": ";
        if (const auto unmet = classifier_.unmet(index, subject_, by_name)) {
            out_ << "no, " << why(*unmet, workload.match, subject_) << "\n";
            return false;
        }
        if (workload.pooling != pooling_) {
            out_ << "no, it has `pooling: "
                 << config::kPoolingWords[static_cast<std::size_t>(workload.pooling)]
                 << "`, and this session was not logged in for that\n";
            return false;
        }
        out_ << "yes\n";
        return true;
    }

    void conclude(std::string_view name) { out_ << "workload: " << name << "\n"; }

    const config::Config& config_;
    config::Classifier classifier_;
    config::Subject subject_;
    std::ostream& out_;
    config::Pooling pooling_ = config::Pooling::transaction;
};

}  // namespace

int explain(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
            std::ostream& err) {
    const std::optional<config::Config> loaded = load_config(options, env, err);
    if (!loaded) return config::kExitBadUsage;
    const config::Config& config = *loaded;
    const config::ExplainOptions& asked = options.explain;

    const std::string wanted = asked.listener.value_or(config.listen.front().name);
    const auto door = std::find_if(config.listen.begin(), config.listen.end(),
                                   [&](const auto& one) { return one.name == wanted; });
    if (door == config.listen.end()) {
        err << "there is no listener " << quote(wanted) << "\n";
        return config::kExitBadUsage;
    }
    const std::string client = asked.client.value_or(door->address ? "127.0.0.1" : "");
    if (!client.empty() && !config::read_ipv4(client) && !config::read_ipv6(client)) {
        err << quote(client) << " is not an address\n";
        return config::kExitBadUsage;
    }
    const std::string database = asked.database.value_or(asked.user);
    config::Subject subject{.database = database,
                            .user = asked.user,
                            .application_name = asked.application_name,
                            .listener = door->name,
                            .client = client};
    subject.text = asked.query;
    const std::string chosen = read_workload_setting(asked.query).value_or(asked.workload);
    subject.chosen = chosen;
    Explanation(config, subject, out).print();
    return config::kExitOk;
}

}  // namespace pgb

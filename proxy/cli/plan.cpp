#include "proxy/cli/plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "proxy/cli/load_config.h"
#include "proxy/cli/plan_json.h"
#include "proxy/cli/plan_servers.h"
#include "proxy/cli/plan_text.h"

namespace pgb {

namespace {

// Of `"*"`, which names none; every server has it unless somebody has dropped it.
constexpr const char* kAnyDatabase = "postgres";

AskedServer& at(std::vector<AskedServer>& servers, const std::string& place) {
    const auto found = std::find_if(servers.begin(), servers.end(),
                                    [&](const AskedServer& one) { return one.place == place; });
    return found != servers.end() ? *found : servers.emplace_back(AskedServer{place, {}});
}

std::vector<AskedServer> servers_of(const config::Config& config) {
    std::vector<AskedServer> servers;
    for (std::size_t i = 0; i < config.databases.size(); ++i) {
        const auto place = server_place(config.databases[i].conninfo);
        AskedServer& server =
            at(servers, place ? place.value() : "of \"" + config.databases[i].name + '"');
        if (!place) server.trouble = place.error().message;
        server.entries.push_back(i);
    }
    return servers;
}

/// As an entry's lock sampler, which may see most, else as an entry itself.
void ask(const config::Config& config, AskedServer& server) {
    std::string trouble;
    const auto try_with = [&](const std::string& conninfo, const config::DatabaseEntry& entry) {
        const std::string& database = entry.name == "*" ? kAnyDatabase : entry.name;
        auto answers = ask_server(conninfo, database, entry.connect_timeout);
        if (answers) {
            server.answers = std::move(answers.value());
            server.trouble.clear();
            return true;
        }
        // What the first of them met is what there is to repair.
        if (server.trouble.empty()) server.trouble = answers.error().message;
        return false;
    };
    for (const std::size_t i : server.entries) {
        const auto& sampler = config.databases[i].lock_sampler.conninfo;
        if (sampler && try_with(*sampler, config.databases[i])) return;
    }
    for (const std::size_t i : server.entries) {
        if (try_with(config.databases[i].conninfo, config.databases[i])) return;
    }
}

/// One server may have several addresses; its limits are there once.
std::vector<AskedServer> merged(std::vector<AskedServer> servers) {
    std::vector<AskedServer> result;
    for (AskedServer& server : servers) {
        const auto same = std::find_if(result.begin(), result.end(), [&](const AskedServer& one) {
            return one.answers && server.answers &&
                   one.answers->identity == server.answers->identity;
        });
        if (same == result.end()) {
            result.push_back(std::move(server));
            continue;
        }
        same->place += " and " + server.place;
        same->entries.insert(same->entries.end(), server.entries.begin(), server.entries.end());
        std::sort(same->entries.begin(), same->entries.end());
    }
    return result;
}

}  // namespace

int plan(const config::Options& options, const config::EnvLookup& env, std::ostream& out,
         std::ostream& err) {
    const std::optional<config::Config> config = load_config(options, env, err);
    if (!config) return config::kExitBadUsage;
    std::vector<AskedServer> servers = servers_of(*config);
    if (!options.plan.offline) {
        for (AskedServer& server : servers) ask(*config, server);
        servers = merged(std::move(servers));
    }
    std::vector<ServerPlan> plans;
    plans.reserve(servers.size());
    for (AskedServer& server : servers) plans.push_back(plan_server(*config, std::move(server)));
    out << (options.plan.json ? plan_json(*config, plans) : plan_text(*config, plans));
    const bool good = std::all_of(plans.begin(), plans.end(),
                                  [](const ServerPlan& one) { return one.is_good(); });
    return good ? config::kExitOk : config::kExitFailed;
}

}  // namespace pgb

#include "proxy/cli/plan_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "proxy/cli/plan_text.h"

namespace pgb {

namespace {

using config::Config;
// The order of the keys is that of the text.
using Json = nlohmann::ordered_json;

template <typename List, typename Write>
Json array(const List& list, const Write& write) {
    Json all = Json::array();
    for (const auto& one : list) all.push_back(write(one));
    return all;
}

Json answers_json(const ServerAnswers& answers) {
    return {{"version", answers.version},
            {"max_connections", answers.max_connections},
            {"superuser_reserved_connections", answers.superuser_reserved},
            {"reserved_connections", answers.reserved},
            {"sees_all", answers.sees_all},
            {"open", array(answers.use, [](const ConnectionUse& use) {
                 return Json{{"role", use.role},
                             {"database", use.database},
                             {"application_name", use.application_name},
                             {"count", use.count}};
             })}};
}

Json limit_json(const NamedLimit& named) {
    constexpr const char* kKinds[] = {"server", "role", "database"};
    const config::ConnectionSum& sum = named.limit.sum;
    const auto& most = named.limit.most;
    return {{"kind", kKinds[static_cast<std::size_t>(named.kind)]},
            {"name", named.name},
            {"most", most ? Json(*most) : Json()},
            {"instances", sum.instances},
            {"surge", sum.surge},
            {"each", sum.each},
            {"others", sum.others},
            {"always", sum.at_rest()},
            {"in_rollout", sum.in_rollout()},
            {"verdict", fit_word(named.limit.fit())},
            {"change_one_of", array(named.remedies, [](const config::Remedy& remedy) {
                 return Json{{"what", remedy.what},
                             {"to", remedy.is_at_least ? "at least" : "at most"},
                             {"value", remedy.value}};
             })}};
}

Json entry_json(const Config& config, const EntryPlan& entry) {
    const config::EntryConnections& of = entry.connections;
    return {{"name", config.databases[of.entry].name},
            {"pool", of.pool},
            {"sampler", of.sampler},
            {"proving", of.proving},
            {"backends_for_workloads", entry.shares.backends},
            {"permits", entry.shares.permits},
            {"shared_out", entry.shares.is_shared_out()},
            {"workloads", array(entry.shares.workloads, [&](const config::WorkloadShare& share) {
                 const config::Workload& workload = config.workloads[share.workload];
                 return Json{{"name", workload.name},
                             {"mode", config::kModeWords[static_cast<std::size_t>(workload.mode)]},
                             {"concurrency", share.permits},
                             {"queue", share.queue},
                             {"share", share.share},
                             {"over_pool", share.is_over_pool()}};
             })}};
}

Json server_json(const Config& config, const ServerPlan& plan) {
    const AskedServer& server = plan.server;
    return {{"server", server.place},
            {"verdict", fit_word(plan.fit())},
            {"trouble", server.trouble.empty() ? Json() : Json(server.trouble)},
            {"answers", server.answers ? answers_json(*server.answers) : Json()},
            {"databases", array(plan.entries,
                                [&](const EntryPlan& entry) { return entry_json(config, entry); })},
            {"limits", array(plan.limits, limit_json)},
            {"notes", plan.notes}};
}

}  // namespace

std::string plan_json(const Config& config, const std::vector<ServerPlan>& plans) {
    const bool good = std::all_of(plans.begin(), plans.end(),
                                  [](const ServerPlan& plan) { return plan.is_good(); });
    const Json all{{"good", good}, {"servers", array(plans, [&](const ServerPlan& plan) {
                                        return server_json(config, plan);
                                    })}};
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace pgb

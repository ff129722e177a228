#include "proxy/cli/plan_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "proxy/io/conninfo.h"

namespace pgb {

namespace {

using config::Config;
using config::ConnectionSum;
using config::DatabaseEntry;
using config::Fit;

// A server may have thousands of roles with a limit; a person reads the first.
constexpr std::size_t kNotesOfAKindMax = 10;

std::string user_of(const DatabaseEntry& entry) { return conninfo_value(entry.conninfo, "user"); }

/// Empty: any that a client names.
std::string database_of(const DatabaseEntry& entry) {
    std::string fixed = conninfo_value(entry.conninfo, "dbname");
    if (!fixed.empty()) return fixed;
    return entry.name == "*" ? "" : entry.name;
}

std::string sampler_value(const DatabaseEntry& entry, const char* keyword) {
    return entry.lock_sampler.conninfo ? conninfo_value(*entry.lock_sampler.conninfo, keyword) : "";
}

std::uint64_t count_if(const ServerAnswers& answers,
                       const std::function<bool(const ConnectionUse&)>& counts) {
    std::uint64_t all = 0;
    for (const ConnectionUse& use : answers.use) all += counts(use) ? use.count : 0;
    return all;
}

/// Connections beyond what the instances can have open are not theirs.
std::uint64_t surely_others(std::uint64_t open, const ConnectionSum& sum) {
    const std::uint64_t ours = (sum.instances + sum.surge) * sum.each;
    return open - std::min(open, ours);
}

/// Makes the plan of one server, step by step.
class Planner {
public:
    Planner(const Config& config, AskedServer server) : config_(config) {
        plan_.server = std::move(server);
    }

    ServerPlan make() {
        for (const std::size_t i : plan_.server.entries) {
            plan_.entries.push_back({connections_of(config_, i), shares_of(config_, i)});
        }
        plan_the_server();
        if (plan_.server.answers) {
            plan_roles(*plan_.server.answers);
            plan_databases(*plan_.server.answers);
        }
        return std::move(plan_);
    }

private:
    const DatabaseEntry& entry(std::size_t index) const { return config_.databases[index]; }

    void add(NamedLimit limit) {
        limit.remedies = config::remedies(config_, limit.limit);
        plan_.limits.push_back(std::move(limit));
    }

    void plan_the_server() {
        NamedLimit named;
        config::Limit& limit = named.limit;
        limit.entries = plan_.server.entries;
        limit.sum = fleet_sum(config_, limit.entries);
        limit.most = config_.fleet.database_connections;
        if (plan_.server.answers) {
            const ServerAnswers& answers = *plan_.server.answers;
            take_number(answers, limit);
            count_others(answers, limit.sum);
        }
        add(std::move(named));
    }

    void take_number(const ServerAnswers& answers, config::Limit& limit) {
        const std::uint64_t kept = answers.superuser_reserved + answers.reserved;
        const std::uint64_t most =
            answers.max_connections - std::min(answers.max_connections, kept);
        if (limit.most && *limit.most > most) {
            plan_.notes.push_back(fmt::format(
                "fleet.database_connections is {}, and PostgreSQL takes {}", *limit.most, most));
        }
        if (limit.most && *limit.most < most) {
            plan_.notes.push_back(fmt::format(
                "PostgreSQL takes {}; fleet.database_connections, {}, is less and counts", most,
                *limit.most));
            return;
        }
        limit.most = most;
        limit.name = "max_connections";
        limit.kept_back = kept;
    }

    void count_others(const ServerAnswers& answers, ConnectionSum& sum) {
        const std::uint64_t seen =
            std::max(surely_others(count_if(answers, [](const auto&) { return true; }), sum),
                     of_other_roles(answers));
        if (seen <= sum.others) return;
        plan_.notes.push_back(
            fmt::format("at least {} connections of others are open and fleet.other_connections is "
                        "{}: {} are counted",
                        seen, sum.others, seen));
        sum.others = seen;
    }

    /// When every connection of ours has a name that the file tells; 0 when they have the clients'.
    std::uint64_t of_other_roles(const ServerAnswers& answers) const {
        std::set<std::string> ours;
        for (const EntryPlan& one : plan_.entries) {
            const DatabaseEntry& of = entry(one.connections.entry);
            ours.insert(user_of(of));
            if (of.lock_sampler.conninfo) ours.insert(sampler_value(of, "user"));
            if (one.connections.proving > 0) ours.insert("");
        }
        if (ours.contains("")) return 0;
        return count_if(answers, [&](const auto& use) { return !ours.contains(use.role); });
    }

    /// Pools whose name is `name`, and samplers whose name is; a proving login has its client's user.
    config::Limit limit_for(const std::string& name, std::uint64_t most,
                            const std::function<std::string(const DatabaseEntry&)>& name_of,
                            const char* keyword, bool counts_proving) const {
        config::Limit limit;
        limit.most = most;
        limit.sum = fleet_sum(config_, {});
        limit.sum.others = 0;
        for (const EntryPlan& one : plan_.entries) {
            const DatabaseEntry& of = entry(one.connections.entry);
            if (sampler_value(of, keyword) == name) limit.sum.each += one.connections.sampler;
            if (name_of(of) != name) continue;
            limit.sum.each += one.connections.pool;
            if (counts_proving) limit.sum.each += one.connections.proving;
            limit.entries.push_back(one.connections.entry);
        }
        return limit;
    }

    void plan_roles(const ServerAnswers& answers) {
        std::size_t noted = 0;
        for (const ConnectionLimit& role : answers.roles) {
            config::Limit limit = limit_for(role.name, role.most, user_of, "user", false);
            if (limit.sum.each == 0) {
                note_free("role", role, user_of, noted);
                continue;
            }
            limit.name = "the connection limit of role \"" + role.name + "\"";
            limit.sum.others = surely_others(
                count_if(answers, [&](const auto& use) { return use.role == role.name; }),
                limit.sum);
            add({NamedLimit::Kind::role, role.name, std::move(limit), {}});
        }
    }

    void plan_databases(const ServerAnswers& answers) {
        std::size_t noted = 0;
        for (const ConnectionLimit& database : answers.databases) {
            config::Limit limit =
                limit_for(database.name, database.most, database_of, "dbname", true);
            if (limit.sum.each == 0) {
                note_free("database", database, database_of, noted);
                continue;
            }
            limit.name = "the connection limit of database \"" + database.name + "\"";
            limit.sum.others = surely_others(
                count_if(answers, [&](const auto& use) { return use.database == database.name; }),
                limit.sum);
            add({NamedLimit::Kind::database, database.name, std::move(limit), {}});
        }
    }

    /// A name that clients may choose: how much of a pool it gets is theirs to say.
    void note_free(const char* kind, const ConnectionLimit& named,
                   const std::function<std::string(const DatabaseEntry&)>& name_of,
                   std::size_t& noted) {
        std::uint64_t each = 0;
        for (const EntryPlan& one : plan_.entries) {
            const DatabaseEntry& of = entry(one.connections.entry);
            if (name_of(of).empty()) each += one.connections.pool;
        }
        const std::uint64_t all = each * (config_.fleet.instances + config_.fleet.surge);
        if (all <= named.most || ++noted > kNotesOfAKindMax) return;
        plan_.notes.push_back(fmt::format(
            "{} \"{}\" may have {} connections, and its clients could be given up to {}", kind,
            named.name, named.most, all));
    }

    const Config& config_;
    ServerPlan plan_;
};

}  // namespace

Fit ServerPlan::fit() const {
    Fit worst = Fit::fits;
    for (const NamedLimit& one : limits) {
        const Fit fit = one.limit.fit();
        if (fit == Fit::does_not_fit) return fit;
        if (fit == Fit::not_known) worst = fit;
    }
    return worst;
}

ServerPlan plan_server(const Config& config, AskedServer server) {
    return Planner(config, std::move(server)).make();
}

}  // namespace pgb

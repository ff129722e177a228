#include "proxy/cli/plan_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "proxy/cli/text_table.h"

namespace pgb {

namespace {

using config::Config;
using config::ConnectionSum;
using config::Fit;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kNameMax = 40;
// Whoever has most connections is told first; the rest is a number.
constexpr std::size_t kUseMax = 6;

std::string quoted(std::string_view name) { return '"' + drawable(name, kNameMax) + '"'; }

Fit fit_of(std::uint64_t all, const std::optional<std::uint64_t>& most) {
    if (!most) return Fit::not_known;
    return all <= *most ? Fit::fits : Fit::does_not_fit;
}

class Picture {
public:
    explicit Picture(const Config& config) : config_(config) {}

    void draw(const ServerPlan& plan) {
        const AskedServer& server = plan.server;
        line(0, fmt::format(
                    "server {}{}: {}", drawable(server.place, kWidth),
                    server.answers ? ", PostgreSQL " + drawable(server.answers->version, 20) : "",
                    verdict(plan)));
        if (!server.trouble.empty()) {
            line(1, "could not be asked: " + drawable(server.trouble, 400));
        }
        if (server.answers) draw_answers(*server.answers);
        draw_connections(plan);
        for (const NamedLimit& limit : plan.limits) draw_limit(limit);
        for (const std::string& note : plan.notes) line(1, "note: " + drawable(note, 400));
        for (const EntryPlan& entry : plan.entries) draw_pool(entry);
        text_ += '\n';
    }

    std::string take() { return std::move(text_); }

private:
    void line(std::size_t depth, const std::string& words) {
        text_.append(depth * 2, ' ');
        text_ += words;
        text_ += '\n';
    }

    void table(std::size_t depth, std::vector<TextColumn> columns) {
        for (std::string& row : lay_out(std::move(columns), kWidth)) {
            row.erase(row.find_last_not_of(' ') + 1);
            line(depth, row);
        }
    }

    static std::string verdict(const ServerPlan& plan) {
        std::string word(fit_word(plan.fit()));
        if (plan.server.trouble.empty() || plan.fit() == Fit::does_not_fit) return word;
        return word + (plan.fit() == Fit::fits ? ", by the file alone" : "");
    }

    void draw_answers(const ServerAnswers& answers) {
        line(1, fmt::format("max_connections {}, of which it keeps {} for superusers and {} for "
                            "reserved roles",
                            answers.max_connections, answers.superuser_reserved, answers.reserved));
        std::uint64_t all = 0;
        std::string most;
        for (std::size_t i = 0; i < answers.use.size(); ++i) {
            const ConnectionUse& use = answers.use[i];
            all += use.count;
            if (i >= kUseMax) continue;
            most +=
                fmt::format("{} {} {} in {} as {}", i == 0 ? ":" : ",", use.count, quoted(use.role),
                            quoted(use.database), quoted(use.application_name));
        }
        line(1, fmt::format("open now: {}{}{}", all, most,
                            answers.use.size() > kUseMax ? ", and more" : ""));
        if (!answers.sees_all) {
            line(1, "who asked is no member of pg_monitor: what is open is told as far as it sees");
        }
    }

    void draw_connections(const ServerPlan& plan) {
        std::vector<TextColumn> columns = {{"ONE INSTANCE", {}, 100},
                                           {"POOL", {}, 90, true},
                                           {"SAMPLER", {}, 80, true},
                                           {"PROVING", {}, 70, true},
                                           {"TOGETHER", {}, 95, true}};
        for (const EntryPlan& entry : plan.entries) {
            const config::EntryConnections& of = entry.connections;
            const std::string cells[] = {quoted(config_.databases[of.entry].name),
                                         std::to_string(of.pool), std::to_string(of.sampler),
                                         std::to_string(of.proving), std::to_string(of.all())};
            for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
        }
        table(1, std::move(columns));
    }

    void draw_sum(const std::string& title, const config::Limit& limit, bool in_rollout) {
        const ConnectionSum& sum = limit.sum;
        const std::uint64_t all = in_rollout ? sum.in_rollout() : sum.at_rest();
        line(1, fmt::format("{}: {} of {}: {}", title, sum_text(sum, in_rollout),
                            limit.most ? std::to_string(*limit.most) : "?",
                            fit_word(fit_of(all, limit.most))));
    }

    void draw_limit(const NamedLimit& named) {
        const bool of_server = named.kind == NamedLimit::Kind::server;
        const std::string whose =
            of_server ? ""
                      : (named.kind == NamedLimit::Kind::role ? "role " : "database ") +
                            quoted(named.name) + ", ";
        draw_sum(whose + "always", named.limit, false);
        if (named.limit.sum.surge > 0) draw_sum(whose + "while a rollout runs", named.limit, true);
        if (named.limit.fit() == Fit::not_known) {
            line(2,
                 "what it takes is not known: ask the server, or say fleet.database_connections");
        }
        if (named.remedies.empty()) return;
        line(2, "change one of:");
        for (const config::Remedy& remedy : named.remedies) {
            line(3, fmt::format("{} to at {} {}", remedy.what,
                                remedy.is_at_least ? "least" : "most", remedy.value));
        }
    }

    void draw_pool(const EntryPlan& entry) {
        const config::PoolShares& shares = entry.shares;
        const auto& of = config_.databases[entry.connections.entry];
        line(1, fmt::format(
                    "pool {}: {} backends for workloads, {} permits{}", quoted(of.name),
                    shares.backends, shares.permits,
                    shares.is_shared_out() ? ": backends are shared out when they run short" : ""));
        std::vector<TextColumn> columns = {{"WORKLOAD", {}, 100},   {"MODE", {}, 70},
                                           {"B", {}, 95, true},     {"Q", {}, 90, true},
                                           {"SHARE", {}, 80, true}, {"", {}, 85}};
        for (const config::WorkloadShare& share : shares.workloads) {
            const config::Workload& workload = config_.workloads[share.workload];
            const std::string cells[] = {
                drawable(workload.name, kNameMax),
                std::string(config::kModeWords[static_cast<std::size_t>(workload.mode)]),
                std::to_string(share.permits),
                std::to_string(share.queue),
                std::to_string(share.share),
                share.is_over_pool() ? "B is more than the backends that it can use" : ""};
            for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
        }
        if (!shares.workloads.empty()) table(2, std::move(columns));
    }

    const Config& config_;
    std::string text_;
};

}  // namespace

std::string_view fit_word(Fit fit) {
    switch (fit) {
        case Fit::fits: return "fits";
        case Fit::does_not_fit: return "does not fit";
        case Fit::not_known: return "not known";
    }
    return "";
}

std::string sum_text(const ConnectionSum& sum, bool in_rollout) {
    const std::string count = in_rollout && sum.surge > 0
                                  ? fmt::format("({} + {})", sum.instances, sum.surge)
                                  : std::to_string(sum.instances);
    const std::string others = sum.others > 0 ? fmt::format(" + {}", sum.others) : "";
    return fmt::format("{} × {}{} = {}", count, sum.each, others,
                       in_rollout ? sum.in_rollout() : sum.at_rest());
}

std::string plan_text(const Config& config, const std::vector<ServerPlan>& plans) {
    Picture picture(config);
    for (const ServerPlan& plan : plans) picture.draw(plan);
    return picture.take();
}

}  // namespace pgb

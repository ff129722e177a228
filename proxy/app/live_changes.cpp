#include "proxy/app/live_changes.h"

#include <utility>

#include "proxy/app/server.h"
#include "proxy/io/clock.h"

namespace pgb {

namespace {

LiveChangeReport::Outcome outcome_of(config::LiveFault fault, Trial trial) {
    using Outcome = LiveChangeReport::Outcome;
    switch (fault) {
        case config::LiveFault::unknown_workload: return Outcome::unknown_workload;
        case config::LiveFault::unknown_key: return Outcome::unknown_key;
        case config::LiveFault::bad_value: return Outcome::bad_value;
        case config::LiveFault::none: break;
    }
    return trial == Trial::dry_run ? Outcome::planned : Outcome::done;
}

}  // namespace

LiveChangeReport LiveChanges::change(const config::LiveChange& wanted, Trial trial,
                                     const Operator& who) {
    config::LivePlan plan = config::plan_live_change(server_.rules().as_file(), wanted);
    LiveChangeReport report{.outcome = outcome_of(plan.fault, trial),
                            .message = std::move(plan.message),
                            .suggestion = std::move(plan.suggestion),
                            .warnings = std::move(plan.warnings)};
    for (const config::Change& change : plan.changes) {
        report.changes.push_back({change.path, change.before, change.after, true});
    }
    if (report.outcome != LiveChangeReport::Outcome::done) return report;
    const std::vector<config::Change> changes = server_.reload(plan.wanted);
    note(changes);
    server_.chronicle().note_change(wanted.workload, who.name.empty() ? who.way : who.name,
                                    report.changes, unix_seconds());
    for (const config::Change& change : changes) {
        server_.log().info("config_changed", {{"key", change.path},
                                              {"before", change.before},
                                              {"after", change.after},
                                              {"trigger", who.way},
                                              {"user", who.name},
                                              {"until", "reload"}});
    }
    return report;
}

void LiveChanges::note(const std::vector<config::Change>& changes) {
    for (const config::Change& change : changes) {
        const auto [known, is_new] = file_values_.emplace(change.path, change.before);
        if (!is_new && known->second == change.after) file_values_.erase(known);
    }
    server_.reload_figures().live_changes = static_cast<std::uint32_t>(file_values_.size());
}

void LiveChanges::forget() {
    file_values_.clear();
    server_.reload_figures().live_changes = 0;
}

}  // namespace pgb

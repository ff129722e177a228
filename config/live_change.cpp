#include "config/live_change.h"

#include <algorithm>
#include <optional>
#include <set>

#include "config/findings.h"
#include "config/forms.h"
#include "config/read.h"
#include "config/suggest.h"
#include "config/validate.h"
#include "config/values.h"

namespace pgb::config {
namespace {

/// The rules across keys, without places in a file.
Complaints judge(const Config& config) {
    Findings findings("");
    validate(config, findings);
    return findings.take();
}

LivePlan fault(LiveFault kind, std::string message, std::string suggestion = {}) {
    return {.fault = kind, .message = std::move(message), .suggestion = std::move(suggestion)};
}

Workload* find_workload(Config& config, const std::string& name) {
    const auto found =
        std::find_if(config.workloads.begin(), config.workloads.end(),
                     [&](const Workload& workload) { return workload.name == name; });
    return found == config.workloads.end() ? nullptr : &*found;
}

LivePlan no_such_workload(const Config& config, const std::string& name) {
    std::vector<std::string_view> names;
    for (const Workload& workload : config.workloads) names.push_back(workload.name);
    return fault(LiveFault::unknown_workload, "there is no workload " + quote(name),
                 suggest(name, names));
}

const Key* find_key(std::string_view name) {
    if (std::find(std::begin(kLiveKeys), std::end(kLiveKeys), name) == std::end(kLiveKeys)) {
        return nullptr;
    }
    for (const Key& key : workload_section().keys) {
        if (key.name == name) return &key;
    }
    return nullptr;
}

std::string allowed_keys() {
    std::string words;
    for (const std::string_view key : kLiveKeys) {
        if (!words.empty()) words += ", ";
        words += '`' + std::string(key) + '`';
    }
    return words;
}

/// Puts the values into the workload; what is wrong with them, if anything is.
std::optional<LivePlan> take_values(Workload& workload, const LiveChange& change) {
    if (change.values.empty()) {
        return fault(LiveFault::unknown_key,
                     "nothing is to be changed: give one of " + allowed_keys());
    }
    std::set<std::string_view> seen;
    for (const auto& [name, value] : change.values) {
        const Key* key = find_key(name);
        if (key == nullptr) {
            return fault(LiveFault::unknown_key,
                         quote(name) + " cannot be changed live; what can is " + allowed_keys(),
                         suggest(name, kLiveKeys));
        }
        if (!seen.insert(name).second) {
            return fault(LiveFault::unknown_key, quote(name) + " is given twice");
        }
        if (auto problem = assign(*key, key->slot(&workload), value, false)) {
            return fault(LiveFault::bad_value, "`" + name + "`: " + problem->words,
                         std::move(problem->suggestion));
        }
    }
    return std::nullopt;
}

}  // namespace

LivePlan plan_live_change(const Config& in_force, const LiveChange& change) {
    LivePlan plan{.wanted = in_force};
    Workload* workload = find_workload(plan.wanted, change.workload);
    if (workload == nullptr) return no_such_workload(plan.wanted, change.workload);
    if (auto wrong = take_values(*workload, change)) return std::move(*wrong);
    const Complaints before = judge(in_force);
    for (const Complaint& complaint : judge(plan.wanted)) {
        if (std::find(before.begin(), before.end(), complaint) != before.end()) continue;
        if (complaint.severity == Severity::error) {
            return fault(LiveFault::bad_value, complaint.words, complaint.suggestion);
        }
        plan.warnings.push_back(complaint.words);
    }
    plan.changes = diff(in_force, plan.wanted).changes;
    return plan;
}

}  // namespace pgb::config

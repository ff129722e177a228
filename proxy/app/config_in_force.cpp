#include "proxy/app/config_in_force.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "proxy/app/housekeeping.h"
#include "proxy/base/check.h"

namespace pgb {

ConfigInForce::ConfigInForce(config::Config loaded)
    : values_(std::move(loaded)),
      housekeeping_(values_.workloads.size()),
      listed_(values_.workloads.size(), true),
      order_(values_.workloads.size()),
      classifier_(values_) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    values_.workloads.push_back(housekeeping_workload(values_));
    listed_.push_back(true);
}

ConfigInForce::Candidates ConfigInForce::candidates(const config::Subject& login,
                                                    config::Pooling pooling) const {
    Candidates found = classifier_.candidates(login);
    std::erase_if(found, [&](std::uint16_t rule) {
        return values_.workloads[order_[rule]].pooling != pooling;
    });
    return found;
}

std::optional<std::size_t> ConfigInForce::choose(const Candidates& candidates,
                                                 const config::Subject& subject) const {
    const auto rule = classifier_.choose(candidates, subject);
    return rule ? std::optional(order_[*rule]) : std::nullopt;
}

std::optional<std::size_t> ConfigInForce::find(const std::string& name) const {
    for (std::size_t i = 0; i < values_.workloads.size(); ++i) {
        if (values_.workloads[i].name == name) return i;
    }
    return std::nullopt;
}

bool ConfigInForce::has_room_for(const config::Config& wanted) const {
    // That of housekeeping is no file's.
    std::size_t count = values_.workloads.size() - 1;
    for (const config::Workload& workload : wanted.workloads) {
        if (!find(workload.name)) ++count;
    }
    return count <= std::max(kWorkloadsMax, values_.workloads.size());
}

config::Config ConfigInForce::as_file() const {
    config::Config file = values_;
    file.workloads.clear();
    for (const std::size_t number : order_) file.workloads.push_back(values_.workloads[number]);
    return file;
}

std::vector<config::Change> ConfigInForce::apply(const config::Config& wanted) {
    config::Difference difference = config::diff(as_file(), wanted);
    config::Config& next = difference.in_force;
    classifier_ = config::Classifier(next);
    ++generation_;

    std::fill(listed_.begin(), listed_.end(), false);
    listed_[housekeeping_] = true;
    order_.clear();
    for (config::Workload& workload : next.workloads) {
        std::size_t number = values_.workloads.size();
        if (const auto known = find(workload.name)) {
            number = *known;
            values_.workloads[number] = std::move(workload);
        } else {
            values_.workloads.push_back(std::move(workload));
            listed_.push_back(false);
        }
        listed_[number] = true;
        order_.push_back(number);
    }
    // The entries are referred to, so each stays where it is; diff() has left their names alone.
    PGB_CHECK(next.databases.size() == values_.databases.size());
    std::move(next.databases.begin(), next.databases.end(), values_.databases.begin());
    next.workloads = std::move(values_.workloads);
    next.databases = std::move(values_.databases);
    values_ = std::move(next);
    return std::move(difference.changes);
}

}  // namespace pgb

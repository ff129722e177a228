#include "proxy/pool/group.h"

namespace pgb {

Flow& Group::flow(WorkloadIndex workload) {
    for (const auto& flow : flows) {
        if (flow->workload == workload) return *flow;
    }
    flows.push_back(std::make_unique<Flow>(*this, workload));
    return *flows.back();
}

GroupTable::~GroupTable() {
    while (!with_wishes.empty()) with_wishes.pop_front();
    while (!unused.empty()) unused.pop_front();
}

Group& GroupTable::find_or_make(std::string_view key) {
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) return *found->second;
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(groups_.size()));
        groups_.push_back(std::make_unique<Group>());
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    Group& group = *groups_[number];
    group.id = GroupId{number};
    group.key = key;
    group.greeting_known = false;
    group.refused_until = Instant{};
    by_key_.emplace(group.key, &group);
    return group;
}

void GroupTable::erase(Group& group) {
    PGB_CHECK(group.sessions == 0 && group.backends.all() == 0);
    PGB_CHECK(group.waiting == 0 && group.logins.empty() && group.promised == 0);
    by_key_.erase(group.key);
    group.key.clear();
    group.flows.clear();
    free_.push_back(static_cast<std::uint32_t>(group.id));
}

}  // namespace pgb

#include "proxy/pool/orphans.h"

#include <algorithm>

#include "proxy/base/check.h"

namespace pgb {

void Orphans::add(BackendId backend, WorkloadIndex workload, Instant until) {
    PGB_CHECK(workload < counts_.size());
    PGB_CHECK(std::none_of(orphans_.begin(), orphans_.end(),
                           [&](const Orphan& orphan) { return orphan.backend == backend; }));
    orphans_.push_back({backend, workload, until});
    ++counts_[workload];
}

bool Orphans::remove(BackendId backend) {
    const auto found = std::find_if(orphans_.begin(), orphans_.end(), [&](const Orphan& orphan) {
        return orphan.backend == backend;
    });
    if (found == orphans_.end()) return false;
    --counts_[found->workload];
    orphans_.erase(found);
    return true;
}

void Orphans::expire(Instant now, std::vector<Orphan>& out) {
    const auto passed = [now](const Orphan& orphan) { return orphan.until <= now; };
    for (const Orphan& orphan : orphans_) {
        if (!passed(orphan)) continue;
        out.push_back(orphan);
        --counts_[orphan.workload];
    }
    orphans_.erase(std::remove_if(orphans_.begin(), orphans_.end(), passed), orphans_.end());
}

Instant Orphans::next_deadline() const {
    Instant earliest = Instant::never();
    for (const Orphan& orphan : orphans_) earliest = std::min(earliest, orphan.until);
    return earliest;
}

std::uint32_t Orphans::count(WorkloadIndex workload) const {
    PGB_CHECK(workload < counts_.size());
    return counts_[workload];
}

}  // namespace pgb

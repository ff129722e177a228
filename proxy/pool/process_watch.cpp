#include "proxy/pool/process_watch.h"

#include <algorithm>

namespace pgb {

void ProcessWatch::on_look(std::int64_t server, Instant asked_at,
                           std::span<const AskedProcess> asked, std::span<const SeenProcess> seen,
                           std::vector<BackendId>& gone) {
    forget_sights();
    for (const AskedProcess& one : asked) {
        Entry& entry = entries_[one.backend.slot];
        const bool known = entry.backend == one.backend;
        if (known && entry.server != server) continue;
        const auto found = std::find_if(seen.begin(), seen.end(),
                                        [&one](const SeenProcess& s) { return s.pid == one.pid; });
        // Another process of the same number is not it.
        const bool there = found != seen.end() && (!known || found->started == entry.started);
        if (there) {
            // An orphan that was never seen before may be somebody else by now.
            if (known || !one.orphaned) note(entry, one.backend, server, *found, asked_at);
        } else if (known && one.orphaned) {
            gone.push_back(one.backend);
            entries_.erase(one.backend.slot);
        }
    }
}

void ProcessWatch::note(Entry& entry, BackendId backend, std::int64_t server,
                        const SeenProcess& seen, Instant asked_at) {
    if (entry.backend != backend) entry = {backend, server, seen.started, false, {}};
    Instant since = Instant::never();
    if (seen.waits_for_lock) since = std::min(entry.sight.lock_wait_since, asked_at);
    entry.in_sight = true;
    entry.sight = {seen.waits_for_lock, seen.idle_in_transaction, asked_at, since};
}

const ProcessWatch::Sight* ProcessWatch::sight_of(BackendId backend) const {
    const auto found = entries_.find(backend.slot);
    if (found == entries_.end() || found->second.backend != backend || !found->second.in_sight) {
        return nullptr;
    }
    return &found->second.sight;
}

bool ProcessWatch::knows(BackendId backend) const {
    const auto found = entries_.find(backend.slot);
    return found != entries_.end() && found->second.backend == backend;
}

void ProcessWatch::forget_sights() {
    for (auto& [slot, entry] : entries_) entry.in_sight = false;
}

}  // namespace pgb

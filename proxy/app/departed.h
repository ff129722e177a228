#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "proxy/admin/holders.h"
#include "proxy/pool/backend_state.h"

namespace pgb {

/// Who held the permits that have outlived their clients: those of backends that are being closed,
/// and of orphans. Only for people to see; at most one for each place of the pool.
class Departed {
public:
    void note(BackendId backend, Holder holder, Instant now) {
        holder.state = HolderState::rolling_back;
        holder.state_since = now;
        holders_.insert_or_assign(backend.slot, std::pair(backend, std::move(holder)));
    }
    void note_orphaned(BackendId backend, Instant now) {
        const auto found = holders_.find(backend.slot);
        if (found == holders_.end() || found->second.first != backend) return;
        found->second.second.state = HolderState::orphaned;
        found->second.second.state_since = now;
    }
    /// Its permit went back.
    void forget(BackendId backend) {
        const auto found = holders_.find(backend.slot);
        if (found != holders_.end() && found->second.first == backend) holders_.erase(found);
    }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [slot, entry] : holders_) visit(entry.first, entry.second);
    }

private:
    std::map<std::uint32_t, std::pair<BackendId, Holder>> holders_;  // by slot
};

}  // namespace pgb

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "proxy/base/check.h"
#include "proxy/base/instant.h"
#include "proxy/base/intrusive_list.h"
#include "proxy/pool/backend_state.h"
#include "proxy/pool/group.h"

namespace pgb {

struct IdleInPool;

/// One place, and the backend in it if there is one.
struct Backend : ListHook<IdleInGroup>, ListHook<IdleInPool> {
    BackendId id;
    BackendState state = BackendState::connecting;
    Group* group = nullptr;      ///< Null: the place is free.
    WorkloadIndex workload = 0;  ///< Of a lent one: for whom it is counted.
    Instant idle_since;
    Instant opened_at;             ///< When it had logged in.
    Instant end_of_life;           ///< From here on it is closed when idle.
    Group* promised_to = nullptr;  ///< Of a closing one: the group whose waiter wanted its place.
    std::uint32_t attempt = 0;     ///< Of a connecting one: what ConnectPacing::begin() said.
};

/// The P places: who is in which state. Moves are checked against the drawing in backend_state.h.
/// P may change: a smaller one takes no place from anybody, it only lets nobody in.
///
///   R1  the counts, of all and of each group, always equal the states.
///   R2  exactly the idle ones are in idle() and in their group's idle list.
class Roster {
public:
    explicit Roster(std::uint32_t size);
    Roster(const Roster&) = delete;
    Roster& operator=(const Roster&) = delete;
    ~Roster();

    void set_size(std::uint32_t size);
    [[nodiscard]] bool has_place() const { return taken() < size_; }
    /// How many of the backends that are not on their way out are above P.
    [[nodiscard]] std::size_t excess() const {
        const std::size_t staying = taken() - counts_.of(BackendState::closing);
        return staying > size_ ? staying - size_ : 0;
    }
    [[nodiscard]] const BackendCounts& counts() const { return counts_; }
    /// The least recently used first, which is the order of idle_since.
    [[nodiscard]] IntrusiveList<Backend, IdleInPool>& idle() { return idle_; }
    [[nodiscard]] const IntrusiveList<Backend, IdleInPool>& idle() const { return idle_; }

    [[nodiscard]] const Backend* find(BackendId id) const;
    /// Aborts when the backend has gone.
    [[nodiscard]] Backend& at(BackendId id) {
        PGB_CHECK(id.slot < backends_.size());
        Backend& backend = *backends_[id.slot];
        PGB_CHECK(backend.id == id && backend.group != nullptr);
        return backend;
    }

    /// A free place becomes a connecting backend; there must be one.
    Backend& open(Group& group);
    /// (free)s the place.
    void free(Backend& backend);
    /// Everything but open() and free().
    void move(Backend& backend, BackendState to);

    template <typename Visit>
    void for_each(Visit visit) {
        for (const auto& backend : backends_) {
            if (backend->group != nullptr) visit(*backend);
        }
    }

private:
    [[nodiscard]] std::size_t taken() const { return backends_.size() - free_.size(); }
    void leave_state(Backend& backend);

    std::vector<std::unique_ptr<Backend>> backends_;  // by slot; as many as P ever was
    std::uint32_t size_ = 0;
    std::vector<std::uint32_t> free_;
    BackendCounts counts_;
    IntrusiveList<Backend, IdleInPool> idle_;
};

}  // namespace pgb

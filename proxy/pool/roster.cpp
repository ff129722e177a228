#include "proxy/pool/roster.h"

#include <algorithm>
#include <array>
#include <functional>

namespace pgb {

namespace {

// A row per state left, a column per state entered, both in the order of the enum.
constexpr std::array<std::array<bool, kBackendStateCount>, kBackendStateCount> kMayMove{{
    // connecting idle lent pinned closing orphaned
    {false, true, false, false, false, false},  // connecting
    {false, false, true, false, true, false},   // idle
    {false, true, false, true, true, true},     // lent
    {false, false, true, false, true, true},    // pinned
    {false, false, false, false, false, true},  // closing
    {false, false, false, false, false, false}  // orphaned
}};

}  // namespace

Roster::Roster(std::uint32_t size) { set_size(size); }

Roster::~Roster() {
    idle_.for_each([this](Backend& backend) { free(backend); });
}

void Roster::set_size(std::uint32_t size) {
    PGB_CHECK(size > 0);
    size_ = size;
    const auto before = static_cast<std::uint32_t>(backends_.size());
    if (size <= before) return;
    for (std::uint32_t slot = before; slot < size; ++slot) {
        backends_.push_back(std::make_unique<Backend>());
        backends_.back()->id = BackendId{slot, 1};
    }
    // Taken from the back, so that low slots are used first: easier to read in a dump.
    free_.reserve(size);
    for (std::uint32_t slot = before; slot < size; ++slot) free_.push_back(slot);
    std::sort(free_.begin(), free_.end(), std::greater<>());
}

const Backend* Roster::find(BackendId id) const {
    if (id.slot >= backends_.size()) return nullptr;
    const Backend& backend = *backends_[id.slot];
    return backend.id == id && backend.group != nullptr ? &backend : nullptr;
}

Backend& Roster::open(Group& group) {
    PGB_CHECK(has_place());
    Backend& backend = *backends_[free_.back()];
    free_.pop_back();
    backend.group = &group;
    backend.state = BackendState::connecting;
    group.backends.add(backend.state);
    counts_.add(backend.state);
    return backend;
}

void Roster::free(Backend& backend) {
    leave_state(backend);
    backend.group = nullptr;
    // 0 names no backend; after four billion lives of one slot it is skipped.
    if (++backend.id.generation == 0) backend.id.generation = 1;
    free_.push_back(backend.id.slot);
}

void Roster::move(Backend& backend, BackendState to) {
    PGB_CHECK(kMayMove[index_of(backend.state)][index_of(to)]);
    leave_state(backend);
    backend.state = to;
    backend.group->backends.add(to);
    counts_.add(to);
    if (to == BackendState::idle) {
        backend.group->idle.push_front(backend);
        idle_.push_back(backend);
    }
}

void Roster::leave_state(Backend& backend) {
    if (backend.state == BackendState::idle) {
        backend.group->idle.remove(backend);
        idle_.remove(backend);
    }
    backend.group->backends.take_off(backend.state);
    counts_.take_off(backend.state);
}

}  // namespace pgb

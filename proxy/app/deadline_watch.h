#pragma once

#include "proxy/base/instant.h"
#include "proxy/gate/due_heap.h"

namespace pgb {

class FrontendConnection;
struct WatchedDeadlines;

/// The holders of permits whose transactions have a deadline, the earliest first: at it each is
/// looked at once, and from there on at every tick. Those who still wait for a permit are the gate's
/// to watch. Owns nothing; no allocation.
class DeadlineWatch {
public:
    void add(FrontendConnection& holder, Instant due);
    /// Nothing happens to one that is not watched.
    void forget(FrontendConnection& holder);
    /// Takes one whose deadline has passed; null: none.
    [[nodiscard]] FrontendConnection* take_due(Instant now);
    [[nodiscard]] Instant next_deadline() const { return watched_.first_due(); }

private:
    DueHeap<FrontendConnection, WatchedDeadlines> watched_;
};

}  // namespace pgb

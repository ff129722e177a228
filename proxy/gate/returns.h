#pragma once

#include <algorithm>
#include <cstdint>

#include "proxy/base/instant.h"

namespace pgb {

struct Lane;

/// What a refused session was told: when to come back. It is open until the session's next arrival.
struct Promise {
    const Lane* lane = nullptr;  ///< that refused it; none: nothing was promised
    Instant made;
    Instant due;

    [[nodiscard]] bool is_open() const { return lane != nullptr; }
    /// Whether an arrival at `now` is the refused transaction tried again. Who has been away for
    /// twice as long as it was told has given up and come for something else.
    [[nodiscard]] bool is_kept_at(Instant now) const { return now - made <= 2 * (due - made); }
};

/// The books of those who were refused and come back.
///   parkings = parked + unparked + cancelled_while_parked + left_while_parked
/// An unparked one has arrived (LaneStats::arrived), a parked one has not.
struct ReturnStats {
    std::uint32_t parked = 0;       ///< Sessions held now until they may come back.
    std::uint32_t peak_parked = 0;  ///< The most that were ever held at once.

    std::uint64_t retries = 0;  ///< Arrivals of a refused session within twice what it was told.
    std::uint64_t early_retries = 0;           ///< Those of them that came before it.
    std::uint64_t parkings = 0;                ///< Early ones that found no slot and were held.
    std::uint64_t unparked = 0;                ///< Those that were let go, and arrived.
    std::uint64_t cancelled_while_parked = 0;  ///< Ended by a CancelRequest.
    std::uint64_t left_while_parked = 0;       ///< Ended because the client went away.
};

/// The line of those who were told to come back: each gets a time of its own, so that they come one
/// by one and not all at the moment at which one slot is free.
class ReturnLine {
public:
    /// `first`: until somebody may get in at all; `step`: between two who come back. Nobody is told
    /// more than `cap`.
    Duration next(Instant now, Duration first, Duration step, Duration cap) {
        const Instant at = std::min(std::max(next_, now + first), now + cap);
        next_ = at + step;
        return at - now;
    }

private:
    Instant next_;
};

}  // namespace pgb

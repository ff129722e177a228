#pragma once

#include <cstdint>

#include "proxy/base/instant.h"
#include "proxy/session/reported_values.h"

namespace pgb {

/// What a new session begins with, and all that is left of one at rest: a session made of it does
/// what the one before it would have done.
struct SessionSeed {
    /// The values that the frontend was told; shared with all that were told the same.
    ReportedValues told;
    /// The values that a backend reports while nothing of this session's is set on it, as seen last;
    /// outlives the session. None: they are not known.
    const ReportedValues* unset = nullptr;
    /// A digest of the database, the user and the startup parameters.
    std::uint64_t origin = 0;
    Instant last_activity;
};

}  // namespace pgb

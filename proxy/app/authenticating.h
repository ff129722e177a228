#pragma once

#include <memory>
#include <optional>

#include "proxy/io/backend_connector.h"
#include "proxy/session/authentication.h"

namespace pgb {

/// A frontend between its startup packet and the pool; it lives on the heap for that long.
struct Authenticating {
    /// Nothing: the client is asked for nothing.
    std::optional<Authentication> machine;
    bool waits = false;       ///< for a verifier, a proof or a name: no byte is looked at
    bool has_waited = false;  ///< for a verifier
    /// What a login with the client's own password has opened.
    std::unique_ptr<ConnectedBackend> proof;
};

}  // namespace pgb

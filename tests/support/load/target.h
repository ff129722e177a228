#pragma once

#include <cstdint>
#include <string>

#include "proxy/base/result.h"

namespace pgb::load {

/// Where to connect and as whom. A host that starts with '/' is the directory of a Unix socket.
struct Target {
    std::string host = "127.0.0.1";
    std::uint16_t port = 5432;
    std::string user = "postgres";
    std::string database = "postgres";
    std::string options;           ///< the startup parameter `options`; empty: not sent
    std::string application_name;  ///< empty: not sent
};

/// A non-blocking socket on its way to the target; numeric addresses only. A refusal that comes
/// at once (no listener, a full backlog of a Unix socket) is an error, a later one shows as an
/// event of the socket. The caller owns the descriptor.
Result<int> start_connect(const Target& target);

}  // namespace pgb::load

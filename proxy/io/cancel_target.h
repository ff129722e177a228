#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>

struct pg_cancel;

namespace pgb {

struct FreeNativeCancel {
    void operator()(pg_cancel* cancel) const;
};

/// Whom to cancel, independent of the connection's own life.
struct CancelTarget {
    sockaddr_storage address{};
    socklen_t address_length = 0;
    std::uint32_t pid = 0;
    /// Empty: the key is not known to us.
    std::string key;
    /// libpq's own canceller, for the backends that the plain request does not serve (TLS, a key
    /// that libpq does not show); null when there is none.
    std::unique_ptr<pg_cancel, FreeNativeCancel> native;
};

}  // namespace pgb

#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>

#include "proxy/io/parameter_list.h"

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
    /// The backend's connection is TLS, and this is what libpq needs for another one like it; null
    /// when the connection is open or a Unix socket.
    std::shared_ptr<const ParameterList> tls;
    /// libpq's own canceller, for an open connection whose key libpq does not show; null when there
    /// is none.
    std::unique_ptr<pg_cancel, FreeNativeCancel> native;
};

}  // namespace pgb

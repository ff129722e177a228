#pragma once

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "proxy/base/result.h"

namespace pgb {

/// Listening sockets that a service manager holds and has handed to this process, so that clients who
/// connect while it is restarted wait in their queue (sd_listen_fds(3)). Told apart by their address.
class InheritedSockets {
public:
    /// None.
    InheritedSockets() = default;
    /// What LISTEN_FDS and LISTEN_PID say, which are then forgotten, so that no child believes them.
    /// The error names the descriptor that is no listening stream socket.
    static Result<InheritedSockets> from_environment();

    ~InheritedSockets();
    InheritedSockets(InheritedSockets&& other) noexcept
        : sockets_(std::exchange(other.sockets_, {})) {}
    InheritedSockets& operator=(InheritedSockets&&) = delete;

    /// The one that listens on the address, non-blocking and close-on-exec, the caller's from now on;
    /// -1: none.
    [[nodiscard]] int take(const sockaddr_storage& address, socklen_t length);
    /// One listens on all addresses of IPv6 and takes those of IPv4, too.
    [[nodiscard]] bool takes_ipv4_also(const sockaddr_storage& any_ipv4) const;
    /// Where those listen that nobody has taken: `127.0.0.1:6432`.
    [[nodiscard]] std::vector<std::string> left() const;

private:
    struct Held {
        int fd = -1;  ///< -1: taken
        std::string address;
        bool takes_ipv4 = false;
    };
    std::vector<Held> sockets_;
};

}  // namespace pgb

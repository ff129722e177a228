#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace pgb {

/// `192.0.2.1:5000`, `[2001:db8::1]:5000`, or the path of a Unix socket (empty when unnamed).
[[nodiscard]] std::string address_text(const sockaddr_storage& address, socklen_t length);

/// Of such a text the address alone, `192.0.2.1` or `2001:db8::1`; of a Unix socket nothing.
[[nodiscard]] std::string_view address_host(std::string_view text);

/// The port of a TCP address, else 0.
[[nodiscard]] std::uint16_t address_port(const sockaddr_storage& address);

/// The kernel's sockaddr pointer for one of our own.
[[nodiscard]] inline const sockaddr* as_sockaddr(const sockaddr_storage& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}
[[nodiscard]] inline sockaddr* as_sockaddr(sockaddr_storage& address) {
    return reinterpret_cast<sockaddr*>(&address);
}

}  // namespace pgb

#include "proxy/io/inherited_sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "proxy/io/socket_address.h"
#include "proxy/io/taken_variable.h"

namespace pgb {

namespace {

// SD_LISTEN_FDS_START.
constexpr int kFirst = 3;
// More than anybody has doors; a number from the environment is not to be trusted with a loop.
constexpr int kMost = 64;

int option(int fd, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

bool is_listening_stream(int fd) {
    return option(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM &&
           option(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1;
}

}  // namespace

Result<InheritedSockets> InheritedSockets::from_environment() {
    const bool for_us = take_number("LISTEN_PID") == getpid();
    const std::int64_t told = take_number("LISTEN_FDS").value_or(0);
    (void)take_variable("LISTEN_FDNAMES");
    const int count = for_us ? static_cast<int>(std::clamp<std::int64_t>(told, 0, kMost)) : 0;
    InheritedSockets inherited;
    for (int fd = kFirst; fd < kFirst + count; ++fd) {
        if (!is_listening_stream(fd)) {
            return Error{"descriptor " + std::to_string(fd) +
                             " of the service manager is no listening stream socket",
                         0};
        }
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        sockaddr_storage address{};
        socklen_t length = sizeof address;
        getsockname(fd, as_sockaddr(address), &length);
        inherited.sockets_.push_back(
            {fd, address_text(address, length),
             address.ss_family == AF_INET6 && option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 0});
    }
    return inherited;
}

InheritedSockets::~InheritedSockets() {
    for (const Held& held : sockets_) {
        if (held.fd >= 0) close(held.fd);
    }
}

int InheritedSockets::take(const sockaddr_storage& address, socklen_t length) {
    const std::string wanted = address_text(address, length);
    for (Held& held : sockets_) {
        if (held.fd >= 0 && held.address == wanted) return std::exchange(held.fd, -1);
    }
    return -1;
}

bool InheritedSockets::takes_ipv4_also(const sockaddr_storage& any_ipv4) const {
    const auto& in = reinterpret_cast<const sockaddr_in&>(any_ipv4);
    if (any_ipv4.ss_family != AF_INET || in.sin_addr.s_addr != INADDR_ANY) return false;
    const std::string everywhere = "[::]:" + std::to_string(address_port(any_ipv4));
    for (const Held& held : sockets_) {
        if (held.takes_ipv4 && held.address == everywhere) return true;
    }
    return false;
}

std::vector<std::string> InheritedSockets::left() const {
    std::vector<std::string> addresses;
    for (const Held& held : sockets_) {
        if (held.fd >= 0) addresses.push_back(held.address);
    }
    return addresses;
}

}  // namespace pgb

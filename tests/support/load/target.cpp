#include "tests/support/load/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pgb::load {
namespace {

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

Result<Address> unix_address(const Target& target) {
    const std::string path = target.host + "/.s.PGSQL." + std::to_string(target.port);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) return Error{"socket path too long: " + path};
    std::memcpy(address.sun_path, path.data(), path.size());
    Address result;
    std::memcpy(&result.storage, &address, sizeof(address));
    result.size = sizeof(address);
    return result;
}

Result<Address> tcp_address(const Target& target) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(target.port);
    const std::string host = target.host == "localhost" ? "127.0.0.1" : target.host;
    if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
        return Error{"not an IPv4 address or a socket directory: " + target.host};
    }
    Address result;
    std::memcpy(&result.storage, &address, sizeof(address));
    result.size = sizeof(address);
    return result;
}

}  // namespace

Result<int> start_connect(const Target& target) {
    const bool local = target.host.starts_with('/');
    const Result<Address> address = local ? unix_address(target) : tcp_address(target);
    if (!address) return address.error();
    const int family = local ? AF_UNIX : AF_INET;
    const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return Error{std::string("socket: ") + std::strerror(errno), errno};
    if (!local) {
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    // The sockets interface takes every family through the type of its first field.
    const auto* generic = reinterpret_cast<const sockaddr*>(&address->storage);
    if (connect(fd, generic, address->size) == 0 || errno == EINPROGRESS) return fd;
    const int code = errno;
    ::close(fd);
    return Error{std::string("connect: ") + std::strerror(code), code};
}

}  // namespace pgb::load

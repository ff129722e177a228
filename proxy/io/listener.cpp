#include "proxy/io/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proxy/base/check.h"
#include "proxy/io/socket_address.h"

namespace pgb {

using namespace std::chrono_literals;

namespace {

// The kernel cuts it to net.core.somaxconn.
constexpr int kBacklog = 4096;
// Keeps one storm of connects from holding up the traffic of a turn; a guess.
constexpr int kAcceptsMaxPerTurn = 64;
constexpr Duration kBackOff = 100ms;
constexpr Duration kReportInterval = 10s;

Error failure(const std::string& what, const std::string& address, int error) {
    return {what + ' ' + address + ": " + std::strerror(error), error};
}

int open_spare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

// Accept's errors that concern the connection only (accept(2), "Error handling").
bool concerns_one_connection(int error) {
    return error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM ||
           error == ENETDOWN || error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET ||
           error == EHOSTUNREACH || error == EOPNOTSUPP || error == ENETUNREACH;
}

std::string peer_text(int fd, const sockaddr_storage& address, socklen_t length) {
    if (address.ss_family != AF_UNIX) return address_text(address, length);
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return "unix:";
    return "unix:pid=" + std::to_string(peer.pid) + ",uid=" + std::to_string(peer.uid);
}

/// Binds and listens; the descriptor, or -1 with errno.
int listen_on(const sockaddr* address, socklen_t length, unsigned mode) {
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int on = 1;
    if (address->sa_family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // `*` gives an IPv4 and an IPv6 address, which must not both take the IPv4 side.
    if (address->sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    bool ok = bind(fd, address, length) == 0;
    if (ok && address->sa_family == AF_UNIX) {
        ok = chmod(reinterpret_cast<const sockaddr_un*>(address)->sun_path, mode) == 0;
    }
    if (ok && listen(fd, kBacklog) == 0) return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/// Whether a process answers on the socket file. EAGAIN is a full backlog, so somebody is there.
bool somebody_listens(const sockaddr_un& address) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return true;
    const bool refused =
        connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
        (errno == ECONNREFUSED || errno == ENOENT);
    close(fd);
    return !refused;
}

bool is_socket_file(const std::string& path, std::uint64_t* inode) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
    *inode = status.st_ino;
    return true;
}

struct FreeAddresses {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

}  // namespace

/// One listening descriptor.
class Listener::Door final : private SocketEvents {
public:
    Door(Listener& listener, Loop& loop, int fd, bool is_inherited)
        : listener_(listener), socket_(loop, fd, *this), is_inherited_(is_inherited) {
        socket_.watch(true, false);
    }
    virtual ~Door() = default;
    void set_open(bool open) { socket_.watch(open, false); }
    /// Who waits at an inherited one waits for whoever serves it next.
    void accept_waiting() {
        if (!is_inherited_) accept(kBacklog);
    }

private:
    void on_ready(bool, bool) override { accept(kAcceptsMaxPerTurn); }
    void accept(int most) {
        for (int i = 0; i < most && listener_.accept_one(socket_.fd()); ++i) {
        }
    }

    Listener& listener_;
    Socket socket_;
    bool is_inherited_;
};

Listener::Listener(Loop& loop, ListenerCallbacks callbacks)
    : loop_(loop),
      callbacks_(std::move(callbacks)),
      reopen_timer_(loop, [this] { reopen(); }),
      spare_fd_(open_spare()) {}

Listener::~Listener() {
    std::uint64_t inode = 0;
    // A successor may have replaced the file; it keeps its own.
    if (!unix_path_.empty() && is_socket_file(unix_path_, &inode) && inode == unix_inode_) {
        unlink(unix_path_.c_str());
    }
    if (spare_fd_ >= 0) close(spare_fd_);
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const TcpEndpoint& endpoint,
                                                 ListenerCallbacks callbacks,
                                                 InheritedSockets* inherited) {
    const std::string wanted = endpoint.host + ':' + std::to_string(endpoint.port);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    const bool everywhere = endpoint.host == "*";
    const int problem =
        getaddrinfo(everywhere ? nullptr : endpoint.host.c_str(), "0", &hints, &found);
    if (problem != 0) return Error{"cannot listen on " + wanted + ": " + gai_strerror(problem), 0};
    const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);

    auto listener = std::make_unique<Listener>(loop, std::move(callbacks));
    listener->port_ = endpoint.port;
    int last_error = EADDRNOTAVAIL;
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
        sockaddr_storage address{};
        std::memcpy(&address, at->ai_addr, at->ai_addrlen);
        // The port that the kernel chose for the first address serves the others too. Both
        // families keep it at the same offset.
        reinterpret_cast<sockaddr_in&>(address).sin_port = htons(listener->port_);
        if (everywhere && inherited != nullptr && inherited->takes_ipv4_also(address)) continue;
        int fd = inherited == nullptr ? -1 : inherited->take(address, at->ai_addrlen);
        const bool is_inherited = fd >= 0;
        if (fd < 0) fd = listen_on(as_sockaddr(address), at->ai_addrlen, 0);
        if (fd < 0) {
            last_error = errno;
            // A machine without IPv6 still resolves `*` and `localhost` to it.
            if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) continue;
            return failure("cannot listen on", address_text(address, at->ai_addrlen), last_error);
        }
        socklen_t length = sizeof address;
        getsockname(fd, as_sockaddr(address), &length);
        listener->port_ = address_port(address);
        listener->add(fd, address_text(address, length), is_inherited);
    }
    if (listener->doors_.empty()) return failure("cannot listen on", wanted, last_error);
    return listener;
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const UnixEndpoint& endpoint,
                                                 ListenerCallbacks callbacks,
                                                 InheritedSockets* inherited) {
    const std::string path = endpoint.directory + "/.s.PGSQL." + std::to_string(endpoint.port);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return Error{"cannot listen on " + path + ": the path is longer than " +
                         std::to_string(sizeof address.sun_path - 1) + " bytes",
                     ENAMETOOLONG};
    }
    std::memcpy(address.sun_path, path.data(), path.size());

    auto listener = std::make_unique<Listener>(loop, std::move(callbacks));
    listener->port_ = endpoint.port;
    sockaddr_storage wanted{};
    std::memcpy(&wanted, &address, sizeof address);
    if (const int held = inherited == nullptr ? -1 : inherited->take(wanted, sizeof address);
        held >= 0) {
        listener->add(held, path, true);
        return listener;
    }

    std::uint64_t inode = 0;
    if (is_socket_file(path, &inode)) {
        if (somebody_listens(address)) return failure("cannot listen on", path, EADDRINUSE);
        unlink(path.c_str());
    }
    const int fd =
        listen_on(reinterpret_cast<const sockaddr*>(&address), sizeof address, endpoint.mode);
    if (fd < 0) return failure("cannot listen on", path, errno);

    listener->unix_path_ = path;
    is_socket_file(path, &listener->unix_inode_);
    listener->add(fd, path, false);
    return listener;
}

void Listener::add(int fd, std::string address, bool is_inherited) {
    doors_.push_back(std::make_unique<Door>(*this, loop_, fd, is_inherited));
    addresses_.push_back(std::move(address));
}

void Listener::accept_waiting() {
    for (const auto& door : doors_) door->accept_waiting();
}

/// Whether another one may be waiting.
bool Listener::accept_one(int listening_fd) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const int fd =
        accept4(listening_fd, as_sockaddr(address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        callbacks_.on_accept({fd, peer_text(fd, address, length)});
        return true;
    }
    const int error = errno;
    if (error == EAGAIN || error == EWOULDBLOCK) return false;
    if (concerns_one_connection(error)) return true;
    report(error);
    if (error == EMFILE || error == ENFILE) refuse_one(listening_fd);
    back_off();
    return false;
}

void Listener::refuse_one(int listening_fd) {
    if (spare_fd_ >= 0) close(spare_fd_);
    const int fd = accept4(listening_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) close(fd);
    spare_fd_ = open_spare();
}

void Listener::report(int error) {
    ++trouble_count_;
    if (loop_.now() < next_report_) return;
    next_report_ = loop_.now() + kReportInterval;
    const std::uint64_t count = std::exchange(trouble_count_, 0);
    if (callbacks_.on_trouble) callbacks_.on_trouble(error, count);
}

void Listener::back_off() {
    for (const auto& door : doors_) door->set_open(false);
    reopen_timer_.arm(loop_.now() + kBackOff);
}

void Listener::reopen() {
    if (spare_fd_ < 0) spare_fd_ = open_spare();
    for (const auto& door : doors_) door->set_open(true);
}

}  // namespace pgb

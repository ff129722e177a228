#include "proxy/io/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "proxy/io/limits.h"
#include "tests/support/catch.h"
#include "tests/unit/io/loop_runner.h"

using namespace pgb;

namespace {

struct TempDir {
    TempDir() { REQUIRE(mkdtemp(name) != nullptr); }
    ~TempDir() { std::filesystem::remove_all(name); }
    char name[32] = "/tmp/pgb-listener-XXXXXX";
};

struct Guests {
    ~Guests() {
        for (const AcceptedConnection& guest : accepted) close(guest.fd);
    }
    ListenerCallbacks callbacks() {
        return {[this](const AcceptedConnection& guest) { accepted.push_back(guest); },
                [this](int error, std::uint64_t) { troubles.push_back(error); }};
    }
    std::vector<AcceptedConnection> accepted;
    std::vector<int> troubles;
};

int connect_tcp(std::uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0) return fd;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    return fd;
}

int connect_unix(const std::string& path) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

}  // namespace

TEST_CASE("listener: the kernel chooses port 0 and guests come with their address") {
    Loop loop;
    Guests guests;
    auto opened = Listener::open(loop, TcpEndpoint{"127.0.0.1", 0}, guests.callbacks());
    REQUIRE(opened.ok());
    const std::uint16_t port = opened.value()->port();
    CHECK(port != 0);
    CHECK(opened.value()->addresses() ==
          std::vector<std::string>{"127.0.0.1:" + std::to_string(port)});
    std::vector<int> fds;
    fds.reserve(200);
    for (int i = 0; i < 200; ++i) fds.push_back(connect_tcp(port));
    REQUIRE(run_until(loop, [&] { return guests.accepted.size() == 200; }));
    CHECK(guests.accepted[0].peer.starts_with("127.0.0.1:"));
    const int flags = fcntl(guests.accepted[0].fd, F_GETFL);
    CHECK((flags & O_NONBLOCK) != 0);
    CHECK((fcntl(guests.accepted[0].fd, F_GETFD) & FD_CLOEXEC) != 0);
    for (const int fd : fds) close(fd);
}

TEST_CASE("listener: a taken port, a foreign address and a name without address are errors") {
    Loop loop;
    Guests guests;
    auto first = Listener::open(loop, TcpEndpoint{"127.0.0.1", 0}, guests.callbacks());
    REQUIRE(first.ok());
    const std::uint16_t port = first.value()->port();
    auto second = Listener::open(loop, TcpEndpoint{"127.0.0.1", port}, guests.callbacks());
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code == EADDRINUSE);
    CHECK(second.error().message.find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
    CHECK_FALSE(Listener::open(loop, TcpEndpoint{"192.0.2.1", 0}, guests.callbacks()).ok());
    CHECK_FALSE(Listener::open(loop, TcpEndpoint{"name.invalid", 0}, guests.callbacks()).ok());
}

TEST_CASE("listener: a star listens on every family with one port") {
    Loop loop;
    Guests guests;
    auto opened = Listener::open(loop, TcpEndpoint{"*", 0}, guests.callbacks());
    REQUIRE(opened.ok());
    const std::string port = std::to_string(opened.value()->port());
    for (const std::string& address : opened.value()->addresses()) {
        CHECK((address == "0.0.0.0:" + port || address == "[::]:" + port));
    }
    const int fd = connect_tcp(opened.value()->port());
    CHECK(run_until(loop, [&] { return guests.accepted.size() == 1; }));
    close(fd);
}

TEST_CASE("listener: an IPv6 guest is written with brackets") {
    Loop loop;
    Guests guests;
    auto opened = Listener::open(loop, TcpEndpoint{"::1", 0}, guests.callbacks());
    if (!opened.ok()) {
        // A machine without IPv6 says so.
        CHECK((opened.error().code == EADDRNOTAVAIL || opened.error().code == EAFNOSUPPORT));
        return;
    }
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    address.sin6_port = htons(opened.value()->port());
    (void)connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    REQUIRE(run_until(loop, [&] { return guests.accepted.size() == 1; }));
    CHECK(guests.accepted[0].peer.starts_with("[::1]:"));
    close(fd);
}

TEST_CASE("listener: a Unix socket has its mode, tells who comes, and goes with the listener") {
    Loop loop;
    TempDir dir;
    Guests guests;
    const std::string path = std::string(dir.name) + "/.s.PGSQL.6432";
    {
        auto opened = Listener::open(loop, UnixEndpoint{dir.name, 6432, 0700}, guests.callbacks());
        REQUIRE(opened.ok());
        CHECK(opened.value()->addresses() == std::vector<std::string>{path});
        struct stat status {};
        REQUIRE(stat(path.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == 0700);
        const int fd = connect_unix(path);
        REQUIRE(run_until(loop, [&] { return guests.accepted.size() == 1; }));
        CHECK(guests.accepted[0].peer ==
              "unix:pid=" + std::to_string(getpid()) + ",uid=" + std::to_string(getuid()));
        close(fd);
    }
    CHECK(access(path.c_str(), F_OK) != 0);
}

TEST_CASE("listener: a stale socket file is replaced, a living one and other files are not") {
    Loop loop;
    TempDir dir;
    Guests guests;
    const UnixEndpoint endpoint{dir.name, 5, 0777};
    const std::string path = std::string(dir.name) + "/.s.PGSQL.5";
    const int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(bind(stale, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    close(stale);

    auto first = Listener::open(loop, endpoint, guests.callbacks());
    REQUIRE(first.ok());
    auto second = Listener::open(loop, endpoint, guests.callbacks());
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code == EADDRINUSE);
    const int fd = connect_unix(path);
    CHECK(fd >= 0);
    close(fd);

    // A file that has taken its place since is not ours to remove.
    std::filesystem::rename(path, path + ".moved");
    { const std::ofstream made(path); }
    first.value().reset();
    CHECK(access(path.c_str(), F_OK) == 0);
    CHECK_FALSE(Listener::open(loop, endpoint, guests.callbacks()).ok());
    CHECK(access(path.c_str(), F_OK) == 0);
}

TEST_CASE("listener: a path that no sockaddr holds is an error and not cut off") {
    Loop loop;
    Guests guests;
    auto opened =
        Listener::open(loop, UnixEndpoint{"/tmp/" + std::string(120, 'x'), 5}, guests.callbacks());
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code == ENAMETOOLONG);
}

TEST_CASE("listener: out of descriptors it closes one guest, backs off, and recovers") {
    Loop loop;
    Guests guests;
    auto opened = Listener::open(loop, TcpEndpoint{"127.0.0.1", 0}, guests.callbacks());
    REQUIRE(opened.ok());
    const int late[] = {connect_tcp(opened.value()->port()), connect_tcp(opened.value()->port())};
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    // Every number below the lowest free one is taken, and none above may be given out.
    const int lowest_free = dup(0);
    close(lowest_free);
    const rlimit tight{static_cast<rlim_t>(lowest_free), before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    const bool told = run_until(loop, [&] { return !guests.troubles.empty(); });
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE(told);
    CHECK(guests.troubles == std::vector<int>{EMFILE});
    CHECK(guests.accepted.empty());
    // The door opens again by itself and the other one comes in.
    CHECK(run_until(loop, [&] { return guests.accepted.size() == 1; }));
    for (const int fd : late) close(fd);
}

TEST_CASE("limits: the soft limit of descriptors becomes the hard one") {
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit low{before.rlim_max / 2, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    CHECK(raise_open_files() == before.rlim_max);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

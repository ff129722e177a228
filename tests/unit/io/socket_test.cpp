#include "proxy/io/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "proxy/io/loop.h"
#include "proxy/io/socket_address.h"
#include "tests/support/catch.h"
#include "tests/unit/io/loop_runner.h"
#include "tests/unit/io/tcp_pair.h"

using namespace pgb;

namespace {

struct Ready final : SocketEvents {
    virtual ~Ready() = default;
    void on_ready(bool r, bool w) override {
        ++count;
        readable = r;
        writable = w;
        if (then) then();
    }
    int count = 0;
    bool readable = false;
    bool writable = false;
    std::function<void()> then;
};

bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

void reset(int fd) {
    const linger at_once{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

int option(int fd, int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    REQUIRE(getsockopt(fd, level, name, &value, &length) == 0);
    return value;
}

TEST_CASE("an address without its port, and nothing of a Unix socket") {
    CHECK(address_host("192.0.2.1:5000") == "192.0.2.1");
    CHECK(address_host("[2001:db8::1]:5000") == "2001:db8::1");
    CHECK(address_host("unix:pid=1,uid=2").empty());
    CHECK(address_host("/tmp/a.b:c").empty());
    CHECK(address_host("").empty());
}

}  // namespace

TEST_CASE("socket: reads tell bytes, nothing yet, and the end apart") {
    Loop loop;
    TcpPair pair;
    Ready ready;
    Socket socket(loop, pair.near, ready);
    char buffer[16];
    CHECK(socket.read(buffer).status == IoStatus::would_block);
    REQUIRE(write(pair.far, "abc", 3) == 3);
    socket.watch(true, false);
    REQUIRE(run_until(loop, [&] { return ready.count > 0; }));
    CHECK(ready.readable);
    CHECK_FALSE(ready.writable);
    const ReadResult bytes = socket.read(buffer);
    CHECK(bytes.status == IoStatus::bytes);
    CHECK(std::string(buffer, bytes.count) == "abc");
    close(pair.far);
    ready.count = 0;
    REQUIRE(run_until(loop, [&] { return ready.count > 0; }));
    CHECK(socket.read(buffer).status == IoStatus::eof);
}

TEST_CASE("socket: a write takes all segments in order and tells how much fitted") {
    Loop loop;
    TcpPair pair;
    Ready ready;
    Socket socket(loop, pair.near, ready);
    const std::string_view words[] = {"one", "", " two", " three"};
    const WriteResult all = socket.write(words);
    CHECK(all.status == IoStatus::bytes);
    CHECK(all.count == 13);
    char buffer[32];
    REQUIRE(read(pair.far, buffer, sizeof buffer) == 13);
    CHECK(std::string(buffer, 13) == "one two three");

    const std::string big(std::size_t{64} << 20, 'x');
    const std::string_view segment[] = {big};
    const WriteResult part = socket.write(segment);
    CHECK(part.status == IoStatus::bytes);
    CHECK(part.count < big.size());
    WriteResult more = part;
    while (more.status == IoStatus::bytes) more = socket.write(segment);
    CHECK(more.status == IoStatus::would_block);
    CHECK(socket.write({}).status == IoStatus::would_block);
    close(pair.far);
}

TEST_CASE("socket: a reset comes as readable whatever is watched, and the read names it") {
    for (const bool readable : {true, false}) {
        Loop loop;
        TcpPair pair;
        Ready ready;
        Socket socket(loop, pair.near, ready);
        std::string big(std::size_t{64} << 20, 'x');
        const std::string_view segment[] = {big};
        while (socket.write(segment).status == IoStatus::bytes) {
        }
        socket.watch(readable, true);
        reset(pair.far);
        REQUIRE(run_until(loop, [&] { return ready.count > 0; }));
        CHECK(ready.readable);
        CHECK(ready.writable);
        // Who does not act on it is told again.
        ready.count = 0;
        REQUIRE(run_until(loop, [&] { return ready.count > 0; }));
        char buffer[16];
        const ReadResult result = socket.read(buffer);
        CHECK(result.status == IoStatus::error);
        CHECK(result.error == ECONNRESET);
        const std::string_view word[] = {"x"};
        CHECK(socket.write(word).status == IoStatus::error);
    }
}

TEST_CASE("socket: bytes that came before a reset are all read") {
    Loop loop;
    TcpPair pair;
    Ready ready;
    Socket socket(loop, pair.near, ready);
    const std::string sent(100000, 'y');
    REQUIRE(write(pair.far, sent.data(), sent.size()) == static_cast<ssize_t>(sent.size()));
    reset(pair.far);
    std::size_t got = 0;
    bool ended = false;
    char buffer[1000];
    ready.then = [&] {
        const ReadResult result = socket.read(buffer);
        got += result.count;
        ended = result.status == IoStatus::error || result.status == IoStatus::eof;
        if (ended) socket.close();
    };
    socket.watch(true, false);
    REQUIRE(run_until(loop, [&] { return ended; }));
    // A reset may overtake bytes inside the kernel, but what was readable is not lost to us.
    CHECK(got % sizeof buffer == 0);
    CHECK(got > 0);
}

TEST_CASE("socket: it can be closed and destroyed inside its own event") {
    Loop loop;
    TcpPair pair;
    Ready ready;
    auto socket = std::make_unique<Socket>(loop, pair.near, ready);
    ready.then = [&] { socket.reset(); };
    socket->watch(true, true);
    REQUIRE(run_until(loop, [&] { return socket == nullptr; }));
    run_turns(loop, 2);
    CHECK(ready.count == 1);
    CHECK_FALSE(is_open(pair.near));
    close(pair.far);
}

TEST_CASE("socket: an event of a socket that another's event closed is not delivered") {
    Loop loop;
    TcpPair one;
    TcpPair two;
    Ready first_ready;
    Ready second_ready;
    Socket first(loop, one.near, first_ready);
    Socket second(loop, two.near, second_ready);
    first_ready.then = [&] { second.close(); };
    second_ready.then = [&] { first.close(); };
    first.watch(true, true);
    second.watch(true, true);
    run_turns(loop, 3);
    CHECK(first_ready.count + second_ready.count >= 1);
    CHECK((first_ready.count == 0 || second_ready.count == 0));
    close(one.far);
    close(two.far);
}

TEST_CASE("socket: watching stops and starts") {
    Loop loop;
    TcpPair pair;
    Ready ready;
    Socket socket(loop, pair.near, ready);
    REQUIRE(write(pair.far, "x", 1) == 1);
    socket.watch(true, false);
    socket.watch(false, false);
    run_turns(loop, 3);
    CHECK(ready.count == 0);
    socket.watch(true, false);
    CHECK(run_until(loop, [&] { return ready.count > 0; }));
    close(pair.far);
}

TEST_CASE("socket: a borrowed descriptor stays open") {
    Loop loop;
    TcpPair pair;
    Ready ready;
    { Socket socket(loop, pair.near, ready, FdOwner::borrowed); }
    CHECK(is_open(pair.near));
    // The number can be watched anew at once.
    Socket again(loop, pair.near, ready);
    again.watch(false, true);
    CHECK(run_until(loop, [&] { return ready.count > 0; }));
    close(pair.far);
}

TEST_CASE("socket: shutdown_write ends our direction only, abort resets") {
    Loop loop;
    TcpPair pair;
    Ready ready;
    Socket socket(loop, pair.near, ready);
    socket.shutdown_write();
    char byte = 0;
    CHECK(read(pair.far, &byte, 1) == 0);
    CHECK(write(pair.far, "x", 1) == 1);
    CHECK(run_until(loop, [&] {
        loop.again();
        return socket.read({&byte, 1}).status == IoStatus::bytes;
    }));
    close(pair.far);

    TcpPair other;
    Socket aborted(loop, other.near, ready);
    aborted.abort();
    CHECK(read(other.far, &byte, 1) == -1);
    CHECK(errno == ECONNRESET);
    close(other.far);
}

TEST_CASE("socket: TCP options arrive and a Unix socket takes none") {
    TcpPair pair;
    set_tcp_options(pair.near, {true, std::chrono::milliseconds(1500), std::chrono::seconds(7), 4});
    set_tcp_user_timeout(pair.near, std::chrono::seconds(9));
    CHECK(option(pair.near, IPPROTO_TCP, TCP_NODELAY) == 1);
    CHECK(option(pair.near, SOL_SOCKET, SO_KEEPALIVE) == 1);
    CHECK(option(pair.near, IPPROTO_TCP, TCP_KEEPIDLE) == 2);
    CHECK(option(pair.near, IPPROTO_TCP, TCP_KEEPINTVL) == 7);
    CHECK(option(pair.near, IPPROTO_TCP, TCP_KEEPCNT) == 4);
    CHECK(option(pair.near, IPPROTO_TCP, TCP_USER_TIMEOUT) == 9000);
    close(pair.near);
    close(pair.far);
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    set_tcp_options(ends[0], {});
    CHECK(option(ends[0], SOL_SOCKET, SO_KEEPALIVE) == 0);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE(
    "socket: a peer is asked three times within the patience, and no oftener than each second") {
    using std::chrono::seconds;
    const TcpOptions usual = keepalive_options(seconds(60), seconds(30));
    CHECK(usual.keepalive);
    CHECK(usual.keepalive_idle == seconds(60));
    CHECK(usual.keepalive_interval == seconds(10));
    CHECK(usual.keepalive_count == 3);
    const TcpOptions hasty = keepalive_options(seconds(1), seconds(1));
    CHECK(hasty.keepalive_interval == seconds(1));
    CHECK(hasty.keepalive_count == 1);
    CHECK_FALSE(keepalive_options(seconds(0), seconds(30)).keepalive);
    CHECK(keepalive_options(seconds(60), seconds(0)).keepalive_count == 0);
}

TEST_CASE("socket: an idle one is small") { CHECK(sizeof(Socket) <= 32); }

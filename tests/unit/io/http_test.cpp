#include "proxy/io/http.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proxy/io/loop.h"
#include "proxy/io/snapshot_box.h"
#include "tests/support/catch.h"
#include "tests/unit/io/http_peer.h"
#include "tests/unit/io/loop_runner.h"

using namespace pgb;
using namespace std::chrono_literals;

namespace {

HttpAnswer echo(const HttpRequest& request) {
    if (request.path == "/request") {
        return {200,
                "text/plain",
                request.method + '|' + request.host + '|' + std::to_string(request.host_count) +
                    '|' + request.origin + '|' + request.authorization + '|' + request.content_type,
                {{"X-Made", "here"}}};
    }
    return {request.path == "/gone" ? 503 : 200, "text/plain", "path=" + request.path};
}

bool ends_with_body(const std::string& answer, const std::string& body) {
    return answer.ends_with("\r\n\r\n" + body);
}

}  // namespace

TEST_CASE("http: requests are answered by path, and the body of HEAD is left out") {
    auto server = HttpServer::start("127.0.0.1", 0, echo);
    REQUIRE(server.ok());
    const std::uint16_t port = server.value()->port();
    const std::string answer = get(port, "/a/b?secret=1");
    CHECK(answer.starts_with("HTTP/1.1 200"));
    CHECK(ends_with_body(answer, "path=/a/b"));
    CHECK(get(port, "/gone").starts_with("HTTP/1.1 503"));
    const std::string head = get(port, "/a", "HEAD");
    CHECK(head.starts_with("HTTP/1.1 200"));
    CHECK(ends_with_body(head, ""));
}

TEST_CASE("http: a handler sees method and headers, and its own headers are sent") {
    auto server = HttpServer::start("127.0.0.1", 0, echo);
    REQUIRE(server.ok());
    const std::string answer =
        converse(server.value()->port(),
                 "POST /request HTTP/1.1\r\nHost: a:1\r\nHost: b\r\nOrigin: http://c\r\n"
                 "Authorization: Bearer d\r\nContent-Type: e/f\r\nContent-Length: 2\r\n\r\n{}");
    CHECK(ends_with_body(answer, "POST|a:1|2|http://c|Bearer d|e/f"));
    CHECK(answer.find("\r\nX-Made: here\r\n") != std::string::npos);
}

TEST_CASE("http: an answer arrives although the request's body was not read") {
    auto server = HttpServer::start("127.0.0.1", 0, echo);
    REQUIRE(server.ok());
    const std::string body(50000, 'x');
    for (int i = 0; i < 20; ++i) {
        const std::string answer =
            converse(server.value()->port(), "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                                                 std::to_string(body.size()) + "\r\n\r\n" + body);
        CHECK(ends_with_body(answer, "path=/x"));
    }
}

TEST_CASE("http: peers that send a byte now and then leave the others an answer") {
    auto server = HttpServer::start("127.0.0.1", 0, echo);
    REQUIRE(server.ok());
    const std::uint16_t port = server.value()->port();
    std::vector<int> slow;
    for (int i = 0; i < 8; ++i) slow.push_back(connect_to(port));
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    // Each would have a second for its next byte, over and over.
    std::thread drip([&] {
        std::unique_lock lock(mutex);
        while (!changed.wait_for(lock, 20ms, [&] { return done; })) {
            for (const int fd : slow) (void)send(fd, "x", 1, MSG_NOSIGNAL);
        }
    });
    CHECK(get(port, "/ok").starts_with("HTTP/1.1 200"));
    {
        const std::lock_guard lock(mutex);
        done = true;
    }
    changed.notify_all();
    drip.join();
    for (const int fd : slow) close(fd);
}

TEST_CASE("http: nonsense and oversize are refused and harm nobody") {
    auto server = HttpServer::start("127.0.0.1", 0, echo);
    REQUIRE(server.ok());
    const std::uint16_t port = server.value()->port();
    CHECK_FALSE(converse(port, "\x16\x03\x01 nonsense\r\n\r\n").starts_with("HTTP/1.1 200"));
    CHECK_FALSE(get(port, '/' + std::string(10000, 'x')).starts_with("HTTP/1.1 200"));
    CHECK(get(port, "/ok").starts_with("HTTP/1.1 200"));
}

TEST_CASE("http: a port in use and an address of others are errors") {
    auto first = HttpServer::start("127.0.0.1", 0, echo);
    REQUIRE(first.ok());
    auto second = HttpServer::start("127.0.0.1", first.value()->port(), echo);
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code == EADDRINUSE);
    CHECK(second.error().message.find(std::to_string(first.value()->port())) != std::string::npos);
    CHECK_FALSE(HttpServer::start("192.0.2.1", 0, echo).ok());
    CHECK_FALSE(HttpServer::start("name.invalid", 0, echo).ok());
}

TEST_CASE("http: a stopped server gives its port back, and start and stop can follow at once") {
    std::uint16_t port = 0;
    for (int i = 0; i < 20; ++i) {
        auto server = HttpServer::start("127.0.0.1", port, echo);
        REQUIRE(server.ok());
        port = server.value()->port();
    }
    CHECK(connect_to(port) == -1);
}

TEST_CASE("http: more clients than workers are all answered") {
    auto server = HttpServer::start("127.0.0.1", 0, echo);
    REQUIRE(server.ok());
    std::atomic<int> good = 0;
    std::vector<std::thread> clients;
    clients.reserve(16);
    for (int i = 0; i < 16; ++i) {
        clients.emplace_back([&] {
            for (int k = 0; k < 20; ++k) {
                if (get(server.value()->port(), "/x").starts_with("HTTP/1.1 200")) ++good;
            }
        });
    }
    for (std::thread& client : clients) client.join();
    CHECK(good == 320);
}

TEST_CASE("http: descriptors beyond what select() can name are served too") {
    std::vector<int> ballast;
    while (ballast.empty() || ballast.back() < 1100) ballast.push_back(dup(STDIN_FILENO));
    auto server = HttpServer::start("127.0.0.1", 0, echo);
    REQUIRE(server.ok());
    CHECK(get(server.value()->port(), "/x").starts_with("HTTP/1.1 200"));
    for (const int fd : ballast) close(fd);
}

TEST_CASE("snapshot box: another thread gets a value made after it asked") {
    Loop loop;
    int made = 0;
    SnapshotBox<int> box(loop, [&made] { return ++made; });
    CHECK_FALSE(box.latest().has_value());
    box.publish();
    CHECK(box.latest() == 1);
    std::atomic<bool> done = false;
    std::vector<int> got;
    std::thread other([&] {
        for (int i = 0; i < 50; ++i) got.push_back(box.fresh(10s).value_or(-1));
        done = true;
        loop.post([] {});
    });
    REQUIRE(run_until(loop, [&] { return done.load(); }));
    other.join();
    REQUIRE(got.size() == 50);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == static_cast<int>(i) + 2);
}

TEST_CASE("snapshot box: a loop that does not turn costs the bound and gives the last value") {
    Loop loop;
    SnapshotBox<int> box(loop, [] { return 7; });
    CHECK_FALSE(box.fresh(1ms).has_value());
    box.publish();
    CHECK(box.fresh(1ms) == 7);
}

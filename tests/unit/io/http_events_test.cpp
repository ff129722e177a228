#include "proxy/io/http_events.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "proxy/io/http.h"
#include "tests/support/catch.h"
#include "tests/unit/io/http_peer.h"

namespace pgb::test {
namespace {

using namespace std::chrono_literals;

/// Both ends of a connection.
std::array<int, 2> pair() {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    return ends;
}

/// Reads until `mark` was seen `count` times or the other side has closed.
std::string read_until(int fd, const std::string& mark, int count = 1) {
    std::string text;
    char buffer[4096];
    for (;;) {
        int seen = 0;
        for (std::size_t at = text.find(mark); at != std::string::npos;
             at = text.find(mark, at + mark.size())) {
            ++seen;
        }
        if (seen >= count) return text;
        const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
        if (got <= 0) return text + "(closed)";
        text.append(buffer, static_cast<std::size_t>(got));
    }
}

HttpAnswer streaming(const HttpRequest& request) {
    if (request.path != "/events") return {200, "text/plain", "plain"};
    return {200, {}, {}, {}, HttpAnswer::Sequel::events};
}

std::string frame(bool is_first) { return is_first ? "data: first\n\n" : "data: next\n\n"; }

TEST_CASE("events: a stream is told at once what there is, and then again and again") {
    EventStreams streams(frame, {.interval = 5ms, .patience = 1s});
    const auto [ours, theirs] = pair();
    REQUIRE(streams.reserve());
    streams.adopt(ours, nullptr);
    const std::string text = read_until(theirs, "data: next\n\n", 3);
    CHECK(text.starts_with("retry: 1000\n\ndata: first\n\ndata: next\n\n"));
    close(theirs);
}

TEST_CASE("events: without anything to tell, a stream still lives") {
    EventStreams streams([](bool) { return std::string(); }, {.interval = 5ms, .patience = 1s});
    const auto [ours, theirs] = pair();
    REQUIRE(streams.reserve());
    streams.adopt(ours, nullptr);
    CHECK(read_until(theirs, ":\n\n", 3).starts_with("retry: 1000\n\n:\n\n:\n\n"));
    close(theirs);
}

TEST_CASE("events: one that does not read is closed, and others are served") {
    const std::string much(1 << 20, 'x');
    EventStreams streams([&](bool) { return "data: " + much + "\n\n"; },
                         {.interval = 5ms, .patience = 50ms});
    const auto [ours, theirs] = pair();
    REQUIRE(streams.reserve());
    streams.adopt(ours, nullptr);
    pollfd end{.fd = theirs, .events = 0, .revents = 0};
    CHECK(poll(&end, 1, -1) == 1);
    const std::string seen = read_until(theirs, "no such mark");
    CHECK(seen.ends_with("(closed)"));
    CHECK(seen.size() < 2 * much.size());
    const auto [another, reader] = pair();
    REQUIRE(streams.reserve());
    streams.adopt(another, nullptr);
    CHECK(read_until(reader, "data: ").starts_with("retry: 1000\n\ndata: "));
    close(theirs);
    close(reader);
}

TEST_CASE("events: there are so many places, and who goes leaves one") {
    EventStreams streams(frame, {.interval = 1h, .patience = 1h});
    for (std::size_t i = 0; i + 1 < EventStreams::kStreamsMax; ++i) REQUIRE(streams.reserve());
    const auto [ours, theirs] = pair();
    REQUIRE(streams.reserve());
    CHECK_FALSE(streams.reserve());
    streams.adopt(ours, nullptr);
    (void)read_until(theirs, "first");
    close(theirs);
    while (!streams.reserve()) std::this_thread::yield();
    streams.give_back();
}

TEST_CASE(
    "http: streams hold no worker, have no length, and more than there is room for are told") {
    auto server = HttpServer::start("127.0.0.1", 0, streaming, nullptr, frame);
    REQUIRE(server.ok());
    const std::uint16_t port = server.value()->port();
    std::vector<int> readers;
    for (std::size_t i = 0; i < EventStreams::kStreamsMax; ++i) {
        const int fd = connect_to(port);
        say(fd, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
        const std::string head = read_until(fd, "data: first");
        CHECK(head.starts_with("HTTP/1.1 200"));
        CHECK(head.find("Content-Type: text/event-stream") != std::string::npos);
        CHECK(head.find("Content-Length") == std::string::npos);
        CHECK(head.find("Transfer-Encoding") == std::string::npos);
        readers.push_back(fd);
    }
    CHECK(get(port, "/events").starts_with("HTTP/1.1 503"));
    CHECK(get(port, "/other").ends_with("plain"));
    for (const int fd : readers) close(fd);
}

TEST_CASE("http: a body is read when the handler asks for it, and not when it is too long") {
    const auto handler = [](const HttpRequest& request) -> HttpAnswer {
        if (request.path == "/unread") return {403, "text/plain", "no"};
        if (!request.body) return {0, {}, {}, {}, HttpAnswer::Sequel::body};
        return {200, "text/plain", "body=" + *request.body};
    };
    auto server = HttpServer::start("127.0.0.1", 0, handler);
    REQUIRE(server.ok());
    const std::uint16_t port = server.value()->port();
    const auto post = [port](const std::string& path, const std::string& body) {
        return converse(port, "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                                  std::to_string(body.size()) + "\r\n\r\n" + body);
    };
    CHECK(post("/x", "{}").ends_with("body={}"));
    CHECK(post("/unread", "{}").starts_with("HTTP/1.1 403"));
    CHECK(post("/x", std::string(40000, 'x')).starts_with("HTTP/1.1 413"));
}

}  // namespace
}  // namespace pgb::test

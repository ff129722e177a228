// Logins at servers that behave as PostgreSQL never does, or only in its worst moments.

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "proxy/io/cancel_sender.h"
#include "proxy/io/listener.h"
#include "tests/support/catch.h"
#include "tests/unit/io/connector_bench.h"

using namespace pgb;
using namespace std::chrono_literals;

namespace {

std::string message(char type, const std::string& body) {
    const std::size_t length = body.size() + 4;
    std::string bytes(1, type);
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(length >> shift & 0xff);
    return bytes + body;
}

std::string zero(const std::string& text) { return text + '\0'; }

const std::string kAuthenticated = message('R', std::string(4, '\0'));
const std::string kKey = message('K', std::string("\0\0\x12\x34"
                                                  "\xff\0\x01\x02",
                                                  8));
const std::string kReady = message('Z', "I");

std::string parameter(const std::string& name, const std::string& value) {
    return message('S', zero(name) + zero(value));
}
std::string report(char type, const std::string& severity, const std::string& code,
                   const std::string& words) {
    return message(type, zero('S' + severity) + zero('V' + severity) + zero('C' + code) +
                             zero('M' + words) + '\0');
}

/// Answers every startup packet with the same bytes, `chunk` at a time, one a turn.
class OddServer {
public:
    OddServer(Loop& loop, std::string answer, std::size_t chunk = 1 << 20)
        : loop_(loop), answer_(std::move(answer)), chunk_(chunk) {
        listener_ = std::move(Listener::open(loop, TcpEndpoint{"127.0.0.1", 0},
                                             {[this](const AcceptedConnection& guest) {
                                                  guests_.push_back({guest.fd, 0, false});
                                              },
                                              nullptr})
                                  .value());
    }
    ~OddServer() {
        for (const Guest& guest : guests_) close(guest.fd);
    }
    [[nodiscard]] std::string conninfo() const {
        return "host=127.0.0.1 user=u dbname=d port=" + std::to_string(listener_->port());
    }
    /// One step for each guest; call it every turn.
    void step() {
        for (Guest& guest : guests_) {
            char ignored[1024];
            if (read_fd(guest.fd, ignored).status == IoStatus::bytes) guest.has_asked = true;
            if (!guest.has_asked || guest.sent == answer_.size()) continue;
            const std::string part = answer_.substr(guest.sent, chunk_);
            (void)send(guest.fd, part.data(), part.size(), MSG_NOSIGNAL);
            guest.sent += part.size();
        }
        loop_.again();
    }

private:
    struct Guest {
        int fd;
        std::size_t sent;
        bool has_asked;
    };
    Loop& loop_;
    std::string answer_;
    std::size_t chunk_;
    std::unique_ptr<Listener> listener_;
    std::vector<Guest> guests_;
};

void log_in(ConnectorBench& bench, OddServer& server) {
    bench.connect({1, server.conninfo(), "", "", {}, 10s});
    REQUIRE(run_until(bench.loop, [&] {
        server.step();
        return bench.connected.size() + bench.failed.size() == 1;
    }));
}

}  // namespace

TEST_CASE("odd server: a login in single bytes with long parameters and notices succeeds") {
    const std::string notice = report('N', "WARNING", "01000", "mind the gap");
    const std::string answer = kAuthenticated + notice + parameter("server_version", "15.1") +
                               parameter("search_path", std::string(20000, 'p')) + notice + kKey +
                               notice + kReady;
    for (const std::size_t chunk : {std::size_t{1} << 20, std::size_t{61}, std::size_t{1}}) {
        ConnectorBench bench;
        OddServer server(bench.loop, answer, chunk);
        log_in(bench, server);
        INFO(bench.complaint());
        REQUIRE(bench.connected.size() == 1);
        ConnectedBackend& backend = bench.connected[0];
        CHECK(backend.server_version == "15.1");
        REQUIRE(backend.parameters.size() == 2);
        CHECK(backend.parameters[0].first == "search_path");
        CHECK(backend.parameters[0].second.size() == 20000);
        CHECK(backend.link.pid() == 0x1234);
        CHECK(backend.link.cancel_key() == std::string("\xff\0\x01\x02", 4));
    }
}

TEST_CASE("odd server: a backend without a key is had, and its cancel is a no-op") {
    ConnectorBench bench;
    OddServer server(bench.loop, kAuthenticated + kReady);
    log_in(bench, server);
    REQUIRE(bench.connected.size() == 1);
    BackendLink& link = bench.connected[0].link;
    CHECK(link.pid() == 0);
    CHECK(link.cancel_key().empty());
    CancelSender sender(bench.loop);
    std::vector<CancelOutcome> outcomes;
    sender.send(link.cancel_target(), 10s,
                [&](CancelOutcome outcome, const std::string&) { outcomes.push_back(outcome); });
    REQUIRE(run_until(bench.loop, [&] { return !outcomes.empty(); }));
    CHECK(outcomes[0] == CancelOutcome::no_key);
}

TEST_CASE("odd server: a FATAL right behind the first ReadyForQuery is a failed login") {
    ConnectorBench bench;
    OddServer server(bench.loop, kAuthenticated + kKey + kReady +
                                     report('E', "FATAL", "57P01", "shutting down"));
    log_in(bench, server);
    REQUIRE(bench.failed.size() == 1);
    CHECK(bench.failed[0].from_server);
    CHECK(bench.failed[0].sqlstate == "57P01");
    CHECK(bench.failed[0].message == "shutting down");
}

TEST_CASE("odd server: a refusal after authentication keeps its code, detail and hint") {
    ConnectorBench bench;
    OddServer server(
        bench.loop,
        kAuthenticated + message('E', zero("SFATAL") + zero("VFATAL") + zero("C3D000") +
                                          zero("Mno\nsuch") + zero("Dwhy") + zero("Hhow") + '\0'));
    log_in(bench, server);
    REQUIRE(bench.failed.size() == 1);
    CHECK(bench.failed[0].sqlstate == "3D000");
    CHECK(bench.failed[0].message == "no such");
    CHECK(bench.failed[0].detail == "why");
    CHECK(bench.failed[0].hint == "how");
}

TEST_CASE("odd server: what is no PostgreSQL is a failure in words") {
    for (const std::string& answer :
         {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), message('Q', "zero"), kReady,
          std::string(kAuthenticated)
              .append(kKey)
              .append(kReady)
              .append(message('T', std::string("\0\0", 2)))}) {
        ConnectorBench bench;
        OddServer server(bench.loop, answer);
        log_in(bench, server);
        REQUIRE(bench.failed.size() == 1);
        CHECK_FALSE(bench.failed[0].from_server);
        CHECK_FALSE(bench.failed[0].message.empty());
    }
}

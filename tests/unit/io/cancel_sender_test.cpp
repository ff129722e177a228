#include "proxy/io/cancel_sender.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "proxy/io/listener.h"
#include "proxy/io/socket_address.h"
#include "tests/support/catch.h"
#include "tests/support/postgres.h"
#include "tests/unit/io/connector_bench.h"

using namespace pgb;
using namespace std::chrono_literals;

namespace {

/// A server that takes cancel connections and leaves the rest to the test.
struct FakeServer {
    explicit FakeServer(Loop& loop)
        : listener(std::move(Listener::open(loop, TcpEndpoint{"127.0.0.1", 0},
                                            {[this](const AcceptedConnection& guest) {
                                                 guests.push_back(guest.fd);
                                             },
                                             nullptr})
                                 .value())) {}
    ~FakeServer() {
        for (const int fd : guests) close(fd);
    }
    [[nodiscard]] CancelTarget target(std::string key) const {
        CancelTarget made;
        auto& address = reinterpret_cast<sockaddr_in&>(made.address);
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(listener->port());
        made.address_length = sizeof address;
        made.pid = 0x01020304;
        made.key = std::move(key);
        return made;
    }
    std::vector<int> guests;
    std::unique_ptr<Listener> listener;
};

}  // namespace

TEST_CASE("cancel: a running statement ends with 57014, and done comes after the server closed") {
    TestPostgres& server = TestPostgres::shared();
    const std::string ways[] = {server.unix_socket(), server.tcp(),
                                server.tcp() + " sslmode=require"};
    for (const std::string& way : ways) {
        ConnectorBench bench;
        bench.connect({1, way + " user=postgres dbname=postgres", "", "", {}, 10s});
        REQUIRE(bench.wait());
        REQUIRE(bench.connected.size() == 1);
        BackendLink& link = bench.connected[0].link;
        bench.send_query(link, "select pg_sleep(60)");
        REQUIRE(
            server.wait_for("select count(*) from pg_stat_activity where state = 'active' and "
                            "wait_event = 'PgSleep' and pid = " +
                                std::to_string(link.pid()),
                            "1"));
        CancelSender sender(bench.loop);
        std::vector<CancelOutcome> outcomes;
        sender.send(link.cancel_target(), 10s, [&](CancelOutcome outcome, const std::string&) {
            outcomes.push_back(outcome);
        });
        CHECK(outcomes.empty());
        REQUIRE(run_until(bench.loop, [&] { return !outcomes.empty(); }));
        CHECK(outcomes == std::vector<CancelOutcome>{CancelOutcome::closed});
        CHECK(bench.read_reply(link) == "57014");
        // The next statement is not struck.
        CHECK(bench.ask(link, "select 42") == "42");
        CHECK(sender.in_flight_count() == 0);
    }
}

TEST_CASE("cancel: a key of any length travels whole, and done waits for the close") {
    for (const std::size_t size : {4U, 32U, 256U}) {
        Loop loop;
        FakeServer server(loop);
        CancelSender sender(loop);
        std::vector<CancelOutcome> outcomes;
        sender.send(
            server.target(std::string(size, 'k')), 10s,
            [&](CancelOutcome outcome, const std::string&) { outcomes.push_back(outcome); });
        std::string bytes;
        REQUIRE(run_until(loop, [&] {
            char buffer[512];
            if (server.guests.empty()) return false;
            const ReadResult result = read_fd(server.guests[0], buffer);
            bytes.append(buffer, result.count);
            loop.again();
            return bytes.size() >= 12 + size;
        }));
        run_turns(loop, 3);
        CHECK(outcomes.empty());
        CHECK(bytes.substr(0, 12) == std::string("\0\0", 2) + static_cast<char>((12 + size) >> 8) +
                                         static_cast<char>((12 + size) & 0xff) +
                                         "\x04\xd2\x16\x2e\x01\x02\x03\x04");
        CHECK(bytes.substr(12) == std::string(size, 'k'));
        close(server.guests[0]);
        server.guests.clear();
        REQUIRE(run_until(loop, [&] { return !outcomes.empty(); }));
        CHECK(outcomes == std::vector<CancelOutcome>{CancelOutcome::closed});
    }
}

TEST_CASE("cancel: a server that never closes is given up, once") {
    Loop loop;
    FakeServer server(loop);
    CancelSender sender(loop);
    std::vector<CancelOutcome> outcomes;
    sender.send(server.target("abcd"), 20ms,
                [&](CancelOutcome outcome, const std::string&) { outcomes.push_back(outcome); });
    REQUIRE(run_until(loop, [&] { return !outcomes.empty(); }));
    run_turns(loop, 3);
    CHECK(outcomes == std::vector<CancelOutcome>{CancelOutcome::timed_out});
}

TEST_CASE("cancel: without a key nothing is sent, without a server nothing arrives") {
    Loop loop;
    FakeServer server(loop);
    CancelSender sender(loop);
    std::vector<CancelOutcome> outcomes;
    const auto note = [&](CancelOutcome outcome, const std::string&) {
        outcomes.push_back(outcome);
    };
    sender.send(server.target(""), 10s, note);
    CHECK(outcomes.empty());
    REQUIRE(run_until(loop, [&] { return outcomes.size() == 1; }));
    CHECK(outcomes[0] == CancelOutcome::no_key);
    CHECK(server.guests.empty());

    CancelTarget gone = server.target("abcd");
    server.listener.reset();
    sender.send(std::move(gone), 10s, note);
    REQUIRE(run_until(loop, [&] { return outcomes.size() == 2; }));
    CHECK(outcomes[1] == CancelOutcome::failed);
}

TEST_CASE("cancel: no more than the bound are in flight, and each is answered once") {
    Loop loop;
    FakeServer server(loop);
    CancelSender sender(loop, 2);
    std::vector<int> counts(10, 0);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        sender.send(server.target("abcd"), 10s,
                    [&counts, i](CancelOutcome, const std::string&) { ++counts[i]; });
    }
    CHECK(sender.in_flight_count() == 2);
    CHECK(sender.queued_count() == 8);
    std::size_t most = 0;
    REQUIRE(run_until(loop, [&] {
        most = std::max(most, server.guests.size());
        for (const int fd : server.guests) close(fd);
        server.guests.clear();
        return sender.in_flight_count() + sender.queued_count() == 0;
    }));
    CHECK(most <= 2);
    CHECK(counts == std::vector<int>(10, 1));
}

TEST_CASE("cancel: what waits for a place and is not sent in time has failed without effect") {
    Loop loop;
    FakeServer server(loop);
    CancelSender sender(loop, 1);
    std::vector<CancelOutcome> outcomes;
    const auto note = [&](CancelOutcome outcome, const std::string&) {
        outcomes.push_back(outcome);
    };
    sender.send(server.target("abcd"), 10s, note);
    sender.send(server.target("abcd"), 10ms, note);
    REQUIRE(run_until(loop, [&] { return outcomes.size() == 1; }));
    CHECK(outcomes[0] == CancelOutcome::failed);
    CHECK(sender.in_flight_count() == 1);
}

TEST_CASE("cancel: the sender can go with requests in flight") {
    Loop loop;
    FakeServer server(loop);
    int calls = 0;
    {
        CancelSender sender(loop, 1);
        sender.send(server.target("abcd"), 10s,
                    [&](CancelOutcome, const std::string&) { ++calls; });
        sender.send(server.target("abcd"), 10s,
                    [&](CancelOutcome, const std::string&) { ++calls; });
        run_turns(loop, 2);
    }
    run_turns(loop, 2);
    CHECK(calls == 0);
}

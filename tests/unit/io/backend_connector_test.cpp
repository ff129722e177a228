#include "proxy/io/backend_connector.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "proxy/io/listener.h"
#include "tests/support/catch.h"
#include "tests/support/postgres.h"
#include "tests/unit/io/connector_bench.h"
#include "tests/unit/io/loop_runner.h"

using namespace pgb;
using namespace std::chrono_literals;

namespace {

std::string value_of(const ParameterList& list, std::string_view name) {
    for (const auto& [known, value] : list) {
        if (known == name) return value;
    }
    return "(none)";
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
        ++count;
    }
    return count;
}

}  // namespace

TEST_CASE("connector: a login over TCP, Unix socket and TLS can be taken over") {
    TestPostgres& server = TestPostgres::shared();
    const std::string certificate = server.directory() + "/server.crt";
    const struct {
        std::string conninfo;
        bool tls;
    } ways[] = {
        {server.tcp() + " user=postgres dbname=postgres", false},
        {server.unix_socket() + " user=postgres dbname=postgres", false},
        {server.tcp() + " user=alice password=secret dbname=postgres", false},
        {"host=localhost port=" + std::to_string(server.port()) +
             " user=alice password=secret dbname=postgres sslmode=verify-full "
             "channel_binding=require"
             " sslrootcert=" +
             certificate,
         true},
    };
    for (const auto& way : ways) {
        ConnectorBench bench;
        bench.connect({1, way.conninfo, "", "", {}, 10s});
        REQUIRE(bench.wait());
        INFO(bench.complaint());
        REQUIRE(bench.connected.size() == 1);
        ConnectedBackend& backend = bench.connected[0];
        CHECK(backend.id == 1);
        CHECK(backend.link.is_tls() == way.tls);
        CHECK(backend.link.cancel_key().size() == 4);
        CHECK(value_of(backend.parameters, "server_encoding") == "UTF8");
        CHECK(value_of(backend.parameters, "server_version") == backend.server_version);
        CHECK(bench.ask(backend.link, "select pg_backend_pid()") ==
              std::to_string(backend.link.pid()));
    }
}

TEST_CASE("connector: long requests and replies pass through TLS unharmed") {
    TestPostgres& server = TestPostgres::shared();
    ConnectorBench bench;
    bench.connect(
        {1, server.tcp() + " user=postgres dbname=postgres sslmode=require", "", "", {}, 10s});
    REQUIRE(bench.wait());
    REQUIRE(bench.connected.size() == 1);
    const std::string text(3'000'000, 'x');
    CHECK(bench.ask(bench.connected[0].link, "select '" + text + "'") == text);
}

TEST_CASE("connector: what the server refuses comes with its SQLSTATE and words") {
    TestPostgres& server = TestPostgres::shared();
    const struct {
        std::string conninfo;
        std::string sqlstate;
        std::string words;
    } refused[] = {
        {server.tcp() + " user=alice password=wrong dbname=postgres", "28P01",
         "password authentication failed for user \"alice\""},
        {server.tcp() + " user=alice password=wrong dbname=postgres sslmode=require", "28P01",
         "password authentication failed for user \"alice\""},
        {server.unix_socket() + " user=postgres dbname=nowhere", "3D000",
         "database \"nowhere\" does not exist"},
        {server.unix_socket() + " user=nobody dbname=postgres", "28000",
         "role \"nobody\" does not exist"},
        {server.unix_socket() + " user=postgres dbname=postgres options='-c no_such=1'", "42704",
         "unrecognized configuration parameter \"no_such\""},
        {server.unix_socket() + " user=postgres dbname=postgres options='-c work_mem=x'", "22023",
         "invalid value for parameter \"work_mem\": \"x\""},
    };
    for (const auto& one : refused) {
        ConnectorBench bench;
        bench.connect({9, one.conninfo, "", "", {}, 10s});
        REQUIRE(bench.wait());
        REQUIRE(bench.failed.size() == 1);
        CHECK(bench.failed[0].id == 9);
        CHECK(bench.failed[0].from_server);
        CHECK(bench.failed[0].sqlstate == one.sqlstate);
        CHECK(bench.failed[0].message == one.words);
        CHECK_FALSE(bench.failed[0].timed_out);
    }
}

TEST_CASE("connector: a password that is asked for and not had is class 28 without the server") {
    ConnectorBench bench;
    bench.connect(
        {1,
         TestPostgres::shared().tcp() + " user=alice dbname=postgres passfile=/nonexistent",
         "",
         "",
         {},
         10s});
    REQUIRE(bench.wait());
    REQUIRE(bench.failed.size() == 1);
    CHECK(bench.failed[0].sqlstate == "28P01");
    CHECK_FALSE(bench.failed[0].from_server);
    CHECK(bench.failed[0].message.find("no password supplied") != std::string::npos);
}

TEST_CASE("connector: a full server says 53300") {
    TestPostgres server({4, {"superuser_reserved_connections = 0"}});
    ConnectorBench bench;
    for (std::uint64_t id = 1; id <= 6; ++id) {
        bench.connect({id, server.unix_socket() + " user=alice dbname=postgres", "", "", {}, 10s});
    }
    REQUIRE(bench.wait());
    // The backend of the set-up may still be on its way out.
    CHECK(bench.connected.size() <= 4);
    REQUIRE(bench.failed.size() >= 2);
    for (const ConnectFailure& failure : bench.failed) {
        CHECK(failure.sqlstate == "53300");
        CHECK(failure.from_server);
    }
}

TEST_CASE("connector: nobody listening, no such socket, no such name are not the server's words") {
    // Bound and not listening: nobody else gets the port meanwhile.
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    const std::string port = std::to_string(ntohs(address.sin_port));
    ConnectorBench bench;
    bench.connect({1, "host=127.0.0.1 user=u port=" + port, "", "", {}, 10s});
    bench.connect({2, "host=/nonexistent user=u", "", "", {}, 10s});
    bench.connect({3, "host=name.invalid user=u", "", "", {}, 10s});
    bench.connect({4, "host=" + std::string(2000, 'x') + " user=u", "", "", {}, 10s});
    REQUIRE(bench.wait());
    REQUIRE(bench.failed.size() == 4);
    for (const ConnectFailure& failure : bench.failed) {
        CHECK(failure.sqlstate.empty());
        CHECK_FALSE(failure.from_server);
        CHECK_FALSE(failure.message.empty());
    }
    close(fd);
}

TEST_CASE(
    "connector: a silent server is given up in time, and the next host of the list is tried") {
    Loop other;
    int accepted = 0;
    auto silent = Listener::open(other, TcpEndpoint{"127.0.0.1", 0},
                                 {[&accepted](const AcceptedConnection&) { ++accepted; }, nullptr});
    REQUIRE(silent.ok());
    const std::string port = std::to_string(silent.value()->port());
    ConnectorBench bench;
    bench.connect({1, "host=127.0.0.1 user=u dbname=d port=" + port, "", "", {}, 50ms});
    REQUIRE(bench.wait());
    REQUIRE(bench.failed.size() == 1);
    CHECK(bench.failed[0].timed_out);
    CHECK(bench.failed[0].message.find("50 ms") != std::string::npos);

    // Refused on the first: port 1 is reserved and nothing serves it here.
    TestPostgres& server = TestPostgres::shared();
    bench.connect({2,
                   "host=127.0.0.1," + server.directory() + " port=1," +
                       std::to_string(server.port()) + " user=postgres dbname=postgres",
                   "",
                   "",
                   {},
                   10s});
    REQUIRE(bench.wait());
    CHECK(bench.connected.size() == 1);
}

TEST_CASE("connector: an address that swallows packets leaves time for the next one") {
    // A full backlog lets further connects hang as a black hole does.
    const int hole = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(bind(hole, generic, length) == 0);
    REQUIRE(listen(hole, 0) == 0);
    REQUIRE(getsockname(hole, generic, &length) == 0);
    std::vector<int> fill;
    for (int i = 0; i < 4; ++i) {
        fill.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
        (void)connect(fill.back(), generic, length);
    }
    TestPostgres& server = TestPostgres::shared();
    ConnectorBench bench;
    bench.connect({1,
                   "host=127.0.0.1,127.0.0.1 port=" + std::to_string(ntohs(address.sin_port)) +
                       ',' + std::to_string(server.port()) + " user=postgres dbname=postgres",
                   "",
                   "",
                   {},
                   1s});
    REQUIRE(bench.wait());
    INFO(bench.complaint());
    CHECK(bench.connected.size() == 1);
    for (const int fd : fill) close(fd);
    close(hole);
}

TEST_CASE("connector: startup parameters arrive as they were, whatever is in them") {
    const std::string odd = "a 'b' \"c\" \\d\\\\ \te\nf, gr\xc3\xbc\xc3\x9f -c x=y;$1";
    TestPostgres& server = TestPostgres::shared();
    ConnectorBench bench;
    bench.connect({1,
                   server.unix_socket(),
                   "postgres",
                   "postgres",
                   {{"application_name", "it's \\me"},
                    {"options", "-c work_mem=5MB\\"},
                    {"my.odd", odd},
                    {"DateStyle", "German, DMY"},
                    {"my.empty", ""},
                    {"client_encoding", "LATIN1"}},
                   10s});
    REQUIRE(bench.wait());
    INFO(bench.complaint());
    REQUIRE(bench.connected.size() == 1);
    ConnectedBackend& backend = bench.connected[0];
    CHECK(value_of(backend.parameters, "application_name") == "it's \\me");
    CHECK(value_of(backend.parameters, "DateStyle") == "German, DMY");
    CHECK(value_of(backend.parameters, "client_encoding") == "LATIN1");
    CHECK(bench.ask(backend.link, "show work_mem") == "5MB");
    CHECK(bench.ask(backend.link,
                    "set client_encoding to utf8; select current_setting('my.odd')") == odd);
    CHECK(bench.ask(backend.link, "select current_setting('my.empty') = ''") == "t");
}

TEST_CASE("connector: two hundred logins leave no descriptor behind, here or there") {
    TestPostgres& server = TestPostgres::shared();
    const std::string ours =
        "select count(*) from pg_stat_activity where application_name = 'leak-test'";
    const std::size_t before = open_descriptors();
    {
        ConnectorBench bench;
        for (std::uint64_t id = 1; id <= 200; ++id) {
            bench.connect({id,
                           (id % 2 == 0 ? server.tcp() : server.unix_socket()) + " user=postgres",
                           id % 5 == 0 ? "nowhere" : "postgres",
                           "",
                           {{"application_name", "leak-test"}},
                           10s});
            if (id % 10 != 0) continue;
            REQUIRE(bench.wait());
            for (ConnectedBackend& backend : bench.connected) {
                if (id % 20 == 0) backend.link.goodbye();
            }
            bench.connected.clear();
        }
        CHECK(bench.failed.size() == 40);
    }
    CHECK(open_descriptors() == before);
    CHECK(server.wait_for(ours, "0"));
}

TEST_CASE("connector: an abandoned login calls nobody and its id can be used again") {
    TestPostgres& server = TestPostgres::shared();
    ConnectorBench bench;
    for (int i = 0; i < 20; ++i) {
        bench.connect({7, server.tcp() + " user=nobody dbname=postgres", "", "", {}, 10s});
        if (i % 2 == 0) run_turns(bench.loop, i);
        bench.abandon(7);
    }
    bench.connect({7, server.tcp() + " user=postgres dbname=postgres", "", "", {}, 10s});
    REQUIRE(bench.wait());
    CHECK(bench.connected.size() == 1);
    CHECK(bench.failed.empty());
}

TEST_CASE("connector: it can go while logins are under way") {
    TestPostgres& server = TestPostgres::shared();
    const std::size_t before = open_descriptors();
    for (int turns = 0; turns < 20; ++turns) {
        ConnectorBench bench;
        for (std::uint64_t id = 1; id <= 5; ++id) {
            bench.connect({id,
                           server.tcp() + " user=alice password=secret dbname=postgres",
                           "",
                           "",
                           {},
                           10s});
        }
        run_turns(bench.loop, turns);
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("link: a dropped backend is gone for PostgreSQL though a message was left unfinished") {
    TestPostgres& server = TestPostgres::shared();
    ConnectorBench bench;
    bench.connect({1, server.unix_socket() + " user=postgres dbname=postgres", "", "", {}, 10s});
    REQUIRE(bench.wait());
    BackendLink link = std::move(bench.connected.at(0).link);
    const std::string pid = std::to_string(link.pid());
    const std::string_view half[] = {std::string_view("Q\0\0\1\0select", 11)};
    REQUIRE(link.write(half).count == 11);
    link.drop();
    CHECK_FALSE(link.is_open());
    CHECK(server.wait_for("select count(*) from pg_stat_activity where pid = " + pid, "0"));
}

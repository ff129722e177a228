#include "proxy/io/tls_cancel.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "proxy/io/cancel_sender.h"
#include "proxy/io/listener.h"
#include "tests/support/catch.h"
#include "tests/support/postgres.h"
#include "tests/unit/io/connector_bench.h"

using namespace pgb;
using namespace std::chrono_literals;

namespace {

/// Where a cancel that was never said in the clear must not appear.
const std::string kCancelCode = "\x04\xd2\x16\x2e";
const std::string kSslRequest = std::string("\0\0\0\x08\x04\xd2\x16\x2f", 8);

/// Answers the first bytes of every connection with the same bytes and keeps all that it is told.
class HalfServer {
public:
    HalfServer(Loop& loop, std::string answer)
        : loop_(loop),
          answer_(std::move(answer)),
          listener_(std::move(Listener::open(loop, TcpEndpoint{"127.0.0.1", 0},
                                             {[this](const AcceptedConnection& guest) {
                                                  guests_.push_back({guest.fd, false});
                                              },
                                              nullptr})
                                  .value())) {}
    ~HalfServer() {
        for (const Guest& guest : guests_) close(guest.fd);
    }
    void step() {
        for (Guest& guest : guests_) {
            char buffer[1024];
            const ReadResult result = read_fd(guest.fd, buffer);
            heard_.append(buffer, result.count);
            if (result.count > 0 && !guest.was_answered) {
                guest.was_answered = true;
                (void)send(guest.fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
            } else if (heard_.find(kCancelCode) != std::string::npos) {
                (void)shutdown(guest.fd, SHUT_RDWR);
            }
        }
        loop_.again();
    }
    [[nodiscard]] CancelTarget target(const std::string& sslmode) const {
        CancelTarget made;
        made.pid = 0x01020304;
        made.key = "abcd";
        made.tls = std::make_shared<const ParameterList>(
            ParameterList{{"host", "localhost"},
                          {"hostaddr", "127.0.0.1"},
                          {"port", std::to_string(listener_->port())},
                          {"user", "u"},
                          {"sslmode", sslmode},
                          {"gssencmode", "disable"},
                          {"passfile", "/dev/null/none"}});
        return made;
    }
    [[nodiscard]] const std::string& heard() const { return heard_; }

private:
    struct Guest {
        int fd;
        bool was_answered;
    };
    Loop& loop_;
    std::string answer_;
    std::string heard_;
    std::vector<Guest> guests_;
    std::unique_ptr<Listener> listener_;
};

struct Sent {
    std::vector<CancelOutcome> outcomes;
    std::string why;
};

Sent cancel_at(Loop& loop, HalfServer& server, const std::string& sslmode, Duration timeout = 10s) {
    CancelSender sender(loop);
    Sent sent;
    sender.send(server.target(sslmode), timeout,
                [&](CancelOutcome outcome, const std::string& why) {
                    sent.outcomes.push_back(outcome);
                    sent.why = why;
                });
    REQUIRE(run_until(loop, [&] {
        server.step();
        return !sent.outcomes.empty();
    }));
    run_turns(loop, 3);
    return sent;
}

using Outcomes = std::vector<CancelOutcome>;

/// A backend that sleeps, reached in the way that the options say.
struct Sleeper {
    explicit Sleeper(const std::string& options) {
        bench.connect({1,
                       "host=localhost port=" + std::to_string(server.port()) +
                           " user=postgres dbname=postgres " + options,
                       "",
                       "",
                       {},
                       10s});
        REQUIRE(bench.wait());
        INFO(bench.complaint());
        REQUIRE(bench.connected.size() == 1);
        bench.send_query(link(), "select pg_sleep(60)");
        REQUIRE(sleeps());
    }
    [[nodiscard]] BackendLink& link() { return bench.connected[0].link; }
    [[nodiscard]] bool sleeps() {
        return server.wait_for(
            "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and pid = " +
                std::to_string(link().pid()),
            "1");
    }
    Sent cancel(CancelTarget target) {
        CancelSender sender(bench.loop);
        Sent sent;
        sender.send(std::move(target), 10s, [&](CancelOutcome outcome, const std::string& why) {
            sent.outcomes.push_back(outcome);
            sent.why = why;
        });
        REQUIRE(run_until(bench.loop, [&] { return !sent.outcomes.empty(); }));
        return sent;
    }
    TestPostgres& server = TestPostgres::shared();
    ConnectorBench bench;
};

CancelTarget with(CancelTarget target, const std::string& keyword, const std::string& value) {
    ParameterList options = *target.tls;
    options.emplace_back(keyword, value);
    target.tls = std::make_shared<const ParameterList>(options);
    return target;
}

CancelTarget without(CancelTarget target, const std::string& keyword) {
    ParameterList options;
    for (const auto& option : *target.tls) {
        if (option.first != keyword) options.push_back(option);
    }
    target.tls = std::make_shared<const ParameterList>(options);
    return target;
}

}  // namespace

TEST_CASE("tls cancel: every mode strikes the statement and done comes after the close") {
    const std::string root = "sslrootcert=" + TestPostgres::shared().directory() + "/server.crt";
    for (const std::string& mode : {std::string("sslmode=prefer"), std::string("sslmode=require"),
                                    "sslmode=verify-ca " + root, "sslmode=verify-full " + root}) {
        Sleeper sleeper(mode);
        REQUIRE(sleeper.link().cancel_target().tls != nullptr);
        CHECK(sleeper.link().cancel_target().native == nullptr);
        const Sent sent = sleeper.cancel(sleeper.link().cancel_target());
        INFO(mode << ": " << sent.why);
        CHECK(sent.outcomes == Outcomes{CancelOutcome::closed});
        CHECK(sleeper.bench.read_reply(sleeper.link()) == "57014");
        CHECK(sleeper.bench.ask(sleeper.link(), "select 42") == "42");
    }
}

TEST_CASE("tls cancel: a certificate that does not verify now ends the cancel, not the statement") {
    TestPostgres& server = TestPostgres::shared();
    const std::string root = server.directory() + "/server.crt";
    Sleeper sleeper("sslmode=verify-full sslrootcert=" + root);
    const std::string other = server.directory() + "/other.crt";
    const std::string make = "openssl req -new -x509 -nodes -days 2 -subj /CN=localhost -keyout " +
                             server.directory() + "/other.key -out " + other + " 2>/dev/null";
    REQUIRE(std::system(make.c_str()) == 0);
    const auto good = [&] { return sleeper.link().cancel_target(); };
    const Sent bad_root =
        sleeper.cancel(with(without(good(), "sslrootcert"), "sslrootcert", other));
    CHECK(bad_root.outcomes == Outcomes{CancelOutcome::failed});
    CHECK(bad_root.why.find("certificate verify failed") != std::string::npos);
    const Sent bad_name = sleeper.cancel(with(without(good(), "host"), "host", "elsewhere"));
    CHECK(bad_name.outcomes == Outcomes{CancelOutcome::failed});
    CHECK(bad_name.why.find("does not match") != std::string::npos);
    CHECK(sleeper.sleeps());
}

TEST_CASE("tls cancel: what a cancel needs has no password and only the address that was reached") {
    Sleeper sleeper("sslmode=require password=secret application_name=a");
    const CancelTarget target = sleeper.link().cancel_target();
    for (const auto& [keyword, value] : *target.tls) {
        CHECK(keyword != "password");
        CHECK(keyword != "application_name");
        if (keyword == "host") CHECK(value == "localhost");
        if (keyword == "hostaddr") CHECK(value == "127.0.0.1");
    }
}

TEST_CASE("tls cancel: an open backend has an open cancel") {
    Sleeper sleeper("sslmode=disable");
    CHECK(sleeper.link().cancel_target().tls == nullptr);
}

TEST_CASE("tls cancel: a server without TLS hears no request when TLS is demanded") {
    for (const char* mode : {"require", "verify-ca", "verify-full"}) {
        Loop loop;
        HalfServer server(loop, "N");
        CancelTarget target = server.target(mode);
        const Sent sent = cancel_at(loop, server, mode);
        CHECK(sent.outcomes == Outcomes{CancelOutcome::failed});
        CHECK(!sent.why.empty());
        CHECK(server.heard().find(kCancelCode) == std::string::npos);
    }
}

TEST_CASE("tls cancel: with prefer a server without TLS gets the request in the clear") {
    Loop loop;
    HalfServer server(loop, "N");
    const Sent sent = cancel_at(loop, server, "prefer");
    CHECK(sent.outcomes == Outcomes{CancelOutcome::closed});
    CHECK(server.heard() ==
          kSslRequest + std::string("\0\0\0\x10", 4) + kCancelCode + "\x01\x02\x03\x04" + "abcd");
}

TEST_CASE("tls cancel: bytes behind the S, an error and nonsense end the cancel unsent") {
    const std::string error("E\0\0\0\x1cSFATAL\0C28000\0Mno entry\0\0", 29);
    for (const std::string& answer : {std::string("SX"), "S" + error, error, std::string("?")}) {
        Loop loop;
        HalfServer server(loop, answer);
        const Sent sent = cancel_at(loop, server, "require");
        CHECK(sent.outcomes == Outcomes{CancelOutcome::failed});
        CHECK(!sent.why.empty());
        CHECK(sent.why.find('\n') == std::string::npos);
        CHECK(server.heard().starts_with(kSslRequest));
        CHECK(server.heard().find(kCancelCode) == std::string::npos);
    }
}

TEST_CASE("tls cancel: a server that stays silent is given up, and nothing can come of it") {
    for (const std::string& answer : {std::string(), std::string("S")}) {
        Loop loop;
        HalfServer server(loop, answer);
        const Sent sent = cancel_at(loop, server, "require", 30ms);
        CHECK(sent.outcomes == Outcomes{CancelOutcome::failed});
        CHECK(server.heard().find(kCancelCode) == std::string::npos);
    }
}

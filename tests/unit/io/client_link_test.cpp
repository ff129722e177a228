#include "proxy/io/client_link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "proxy/io/loop.h"
#include "tests/support/catch.h"
#include "tests/unit/io/tcp_pair.h"
#include "tests/unit/io/tls_bench.h"

using namespace pgb;

namespace {

constexpr std::size_t kToTheEnd = std::string::npos;
const std::string kPostgres = "\x0apostgresql";

struct Deaf final : SocketEvents {
    virtual ~Deaf() = default;
    void on_ready(bool, bool) override {}
};

/// A client and our link at the two ends of a connection, each moved by hand.
class Ends {
public:
    explicit Ends(const TlsFiles& files, const TlsClient::Wishes& wishes = {}) {
        auto loaded = TlsContext::load(files);
        REQUIRE(loaded);
        context_ = std::move(*loaded);
        REQUIRE(fcntl(pair_.far, F_SETFL, O_NONBLOCK) == 0);
        client = std::make_unique<TlsClient>(pair_.far, wishes);
        link.begin_tls(std::make_unique<TlsStream>(context_), {});
    }

    /// Until the handshake is over on our side.
    bool shake() {
        for (int i = 0; i < 1000; ++i) {
            client->shake();
            pollfd ends[] = {{link.fd(), POLLIN, 0}, {SSL_get_fd(client->ssl()), POLLIN, 0}};
            (void)poll(ends, 2, 20);
            if (ours() == ClientLink::Exchange::open) {
                // TLS 1.2: our last word comes behind the client's.
                while (!client->shake()) wait_readable(SSL_get_fd(client->ssl()));
                return true;
            }
            if (over_ == ClientLink::Exchange::ended) {
                std::string nothing;
                link.close();
                const int fd = SSL_get_fd(client->ssl());
                while (!client->shake() && !client->has_failed() && wait_readable(fd)) {
                }
                if (!client->has_failed()) client->read(nothing, kToTheEnd);
                return false;
            }
        }
        return false;
    }
    ClientLink::Exchange ours() {
        over_ = link.exchange();
        if (over_ == ClientLink::Exchange::calculate) {
            auto stream = link.lend();
            const HandshakeStep step = stream->advance();
            link.take_back(std::move(stream), step);
            error = "";
            over_ = link.exchange();
            error = link.handshake_error();
        }
        return over_;
    }
    /// What there is, waiting until it is so much; kToTheEnd: until the stream has ended.
    std::string read_all(ReadResult& last, std::size_t wanted = 0) {
        std::string got;
        char buffer[1000];
        for (;;) {
            last = link.read(buffer);
            if (last.status == IoStatus::bytes) {
                got.append(buffer, last.count);
                continue;
            }
            const bool waits = last.status == IoStatus::would_block && got.size() < wanted;
            if (!waits || !wait_readable(link.fd())) return got;
        }
    }

private:
    Loop loop_;
    Deaf deaf_;
    TcpPair pair_;
    std::shared_ptr<const TlsContext> context_;
    ClientLink::Exchange over_ = ClientLink::Exchange::wait;

public:
    ClientLink link{loop_, pair_.near, deaf_};
    std::unique_ptr<TlsClient> client;
    std::string error;
};

struct Folder : CertificateFolder {
    Folder() { make("server", "server"); }
};

constexpr int kVersions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

}  // namespace

TEST_CASE("client link: bytes go both ways over TLS 1.2 and 1.3") {
    Folder folder;
    for (const int version : kVersions) {
        Ends ends(folder.files("server"), {.version = version, .alpn = {}, .cert = {}, .key = {}});
        REQUIRE(ends.shake());
        CHECK(ends.link.is_tls());
        CHECK_FALSE(ends.link.tls()->has_alpn());
        CHECK_FALSE(ends.link.tls()->peer().is_verified);
        CHECK(ends.client->write("hello") == 5);
        ReadResult last;
        CHECK(ends.read_all(last, 5) == "hello");
        CHECK(last.status == IoStatus::would_block);
        const std::string_view words[] = {"one", "", " two"};
        CHECK(ends.link.write(words).count == 7);
        std::string got;
        CHECK(ends.client->read(got, 7));
        CHECK(got == "one two");
    }
}

TEST_CASE("client link: an older version than the least is refused with an alert") {
    Folder folder;
    TlsFiles files = folder.files("server");
    files.only_tls13 = true;
    Ends ends(files, {.version = TLS1_2_VERSION, .alpn = {}, .cert = {}, .key = {}});
    CHECK_FALSE(ends.shake());
    CHECK(ends.error == "unsupported protocol");
    CHECK(ends.client->alert() == "tlsv1 alert protocol version");
}

TEST_CASE("client link: who names protocols must name ours") {
    Folder folder;
    Ends ours(folder.files("server"),
              {.version = TLS1_3_VERSION, .alpn = "\2h2" + kPostgres, .cert = {}, .key = {}});
    REQUIRE(ours.shake());
    CHECK(ours.link.tls()->has_alpn());
    Ends foreign(folder.files("server"),
                 {.version = TLS1_3_VERSION, .alpn = "\2h2", .cert = {}, .key = {}});
    CHECK_FALSE(foreign.shake());
    CHECK(foreign.client->alert() == "tlsv1 alert no application protocol");
}

TEST_CASE("client link: records that a slow reader left are offered again, none is long") {
    Folder folder;
    for (const int version : kVersions) {
        Ends ends(folder.files("server"), {.version = version, .alpn = {}, .cert = {}, .key = {}});
        REQUIRE(ends.shake());
        std::string sent;
        for (int i = 0; sent.size() < (std::size_t{24} << 20); ++i) sent += std::to_string(i) + ' ';
        std::string got;
        std::size_t at = 0;
        int full = 0;
        while (at < sent.size()) {
            // Offered in two pieces whose border wanders, as two messages would be.
            const std::string_view rest = std::string_view(sent).substr(at);
            const std::size_t half = rest.size() / 3;
            const std::string_view parts[] = {rest.substr(0, half), rest.substr(half)};
            const WriteResult written = ends.link.write(parts);
            if (written.status == IoStatus::would_block) {
                ++full;
                REQUIRE(ends.client->read(got, got.size() + 1));
                continue;
            }
            REQUIRE(written.status == IoStatus::bytes);
            at += written.count;
        }
        REQUIRE(ends.client->read(got, sent.size()));
        CHECK(full > 0);
        CHECK(got == sent);
        CHECK(ends.client->longest() <= static_cast<int>(TlsStream::kRecordMax));
    }
}

TEST_CASE("client link: what lies in the TLS layer is told, unless reading has stopped") {
    Folder folder;
    Ends ends(folder.files("server"));
    REQUIRE(ends.shake());
    ends.link.watch(true, false);
    const std::string sent(16384, 'x');
    REQUIRE(ends.client->write(sent) == sent.size());
    char few[10];
    while (ends.link.read(few).status == IoStatus::would_block) {
        REQUIRE(wait_readable(ends.link.fd()));
    }
    CHECK(ends.link.has_pending());
    ends.link.watch(false, false);
    CHECK_FALSE(ends.link.has_pending());
    ends.link.watch(true, false);
    CHECK(ends.link.has_pending());
    ReadResult last;
    CHECK(ends.read_all(last, sent.size() - sizeof few).size() == sent.size() - sizeof few);
    CHECK_FALSE(ends.link.has_pending());
    // Records that came together and fill the span to its end.
    REQUIRE(ends.client->write("0123456789") == 10);
    REQUIRE(ends.client->write("more") == 4);
    while (ends.link.read(few).status == IoStatus::would_block) {
        REQUIRE(wait_readable(ends.link.fd()));
    }
    // The second may not have come yet; it is never lost.
    CHECK(ends.read_all(last, 4) == "more");
    CHECK_FALSE(ends.link.has_pending());
}

TEST_CASE("client link: what the client sent behind its handshake is read without any readiness") {
    Folder folder;
    Ends ends(folder.files("server"));
    bool early = false;
    for (int i = 0; i < 1000 && !ends.link.is_tls(); ++i) {
        pollfd both[] = {{ends.link.fd(), POLLIN, 0}, {SSL_get_fd(ends.client->ssl()), POLLIN, 0}};
        if (i > 0) (void)poll(both, 2, 20);
        if (!early && ends.client->shake()) early = ends.client->write("early") == 5;
        ends.ours();
    }
    REQUIRE(early);
    REQUIRE(ends.link.is_tls());
    ends.link.watch(true, false);
    ReadResult last;
    CHECK(ends.read_all(last, 5) == "early");
}

TEST_CASE(
    "client link: a half-close is the end of the stream, and what we say then still arrives") {
    Folder folder;
    for (const int version : kVersions) {
        Ends ends(folder.files("server"), {.version = version, .alpn = {}, .cert = {}, .key = {}});
        REQUIRE(ends.shake());
        REQUIRE(ends.client->write("last words") == 10);
        SSL_shutdown(ends.client->ssl());
        ReadResult last;
        CHECK(ends.read_all(last, kToTheEnd) == "last words");
        CHECK(last.status == IoStatus::eof);
        const std::string_view answer[] = {"answer"};
        CHECK(ends.link.write(answer).count == 6);
        ends.link.shutdown_write();
        std::string got;
        CHECK_FALSE(ends.client->read(got, kToTheEnd));
        CHECK(got == "answer");
        CHECK(ends.client->ended_by_close_notify());
    }
}

TEST_CASE("client link: close says close_notify, and a connection that only ends is at its end") {
    Folder folder;
    Ends ends(folder.files("server"));
    REQUIRE(ends.shake());
    ends.link.close();
    std::string got;
    CHECK_FALSE(ends.client->read(got, kToTheEnd));
    CHECK(ends.client->ended_by_close_notify());

    Ends abrupt(folder.files("server"));
    REQUIRE(abrupt.shake());
    REQUIRE(abrupt.client->write("words") == 5);
    ::shutdown(SSL_get_fd(abrupt.client->ssl()), SHUT_WR);
    ReadResult last;
    CHECK(abrupt.read_all(last, kToTheEnd) == "words");
    CHECK(last.status == IoStatus::eof);
    const std::string_view answer[] = {"answer"};
    CHECK(abrupt.link.write(answer).count == 6);
    std::string heard;
    CHECK(abrupt.client->read(heard, 6));
    CHECK(heard == "answer");
}

TEST_CASE("client link: a record that was meddled with breaks the connection, for good") {
    Folder folder;
    Ends ends(folder.files("server"));
    REQUIRE(ends.shake());
    const std::string forged = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
    REQUIRE(::send(SSL_get_fd(ends.client->ssl()), forged.data(), forged.size(), 0) == 37);
    ReadResult last;
    CHECK(ends.read_all(last, kToTheEnd).empty());
    CHECK(last.status == IoStatus::error);
    char buffer[10];
    CHECK(ends.link.read(buffer).status == IoStatus::error);
    const std::string_view word[] = {"word"};
    CHECK(ends.link.write(word).status == IoStatus::error);
}

TEST_CASE("client link: new keys in the middle of a blocked write do no harm") {
    Folder folder;
    Ends ends(folder.files("server"));
    REQUIRE(ends.shake());
    const std::string sent(std::size_t{16} << 20, 'y');
    std::size_t at = 0;
    const auto write_on = [&] {
        const std::string_view rest[] = {std::string_view(sent).substr(at)};
        const WriteResult written = ends.link.write(rest);
        REQUIRE(written.status != IoStatus::error);
        at += written.count;
        return written.status == IoStatus::bytes;
    };
    while (write_on()) {
    }
    REQUIRE(SSL_key_update(ends.client->ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
    REQUIRE(ends.client->write("under new keys") == 14);
    ReadResult last;
    CHECK(ends.read_all(last, 14) == "under new keys");
    CHECK(last.status == IoStatus::would_block);
    std::string got;
    while (got.size() < sent.size()) {
        REQUIRE(ends.client->read(got, got.size() + 1));
        if (at < sent.size()) write_on();
    }
    CHECK(got == sent);
}

TEST_CASE(
    "client link: a wish to negotiate anew is not granted, and ends at worst the connection") {
    Folder folder;
    Ends ends(folder.files("server"),
              {.version = TLS1_2_VERSION, .alpn = {}, .cert = {}, .key = {}});
    REQUIRE(ends.shake());
    REQUIRE(SSL_renegotiate(ends.client->ssl()) == 1);
    (void)SSL_do_handshake(ends.client->ssl());
    CHECK(wait_readable(ends.link.fd()));
    ReadResult last;
    CHECK(ends.read_all(last).empty());
    std::string got;
    (void)ends.client->read(got, 1);
    CHECK(SSL_num_renegotiations(ends.client->ssl()) <= 1);
    CHECK(ends.client->alert() == "no renegotiation");
}

TEST_CASE("client link: a client's certificate is optional, and a stranger's is refused") {
    Folder folder;
    folder.make("alice", "alice");
    folder.make("mallory", "mallory");
    TlsFiles files = folder.files("server");
    files.client_ca = folder.file("alice.crt");
    for (const int version : kVersions) {
        const auto wishes = [&](const std::string& name) {
            return TlsClient::Wishes{.version = version,
                                     .alpn = {},
                                     .cert = folder.file(name + ".crt"),
                                     .key = folder.file(name + ".key")};
        };
        Ends alice(files, wishes("alice"));
        REQUIRE(alice.shake());
        const TlsPeer peer = alice.link.tls()->peer();
        CHECK(peer.is_verified);
        CHECK(peer.common_name == "alice");
        CHECK(peer.distinguished_name == "CN=alice,O=Test\\, Inc.");
        Ends nobody(files, {.version = version, .alpn = {}, .cert = {}, .key = {}});
        REQUIRE(nobody.shake());
        CHECK_FALSE(nobody.link.tls()->peer().is_verified);
        CHECK(nobody.link.tls()->peer().common_name.empty());
        Ends mallory(files, wishes("mallory"));
        CHECK_FALSE(mallory.shake());
        CHECK(mallory.error.starts_with("client certificate: "));
        CHECK(mallory.client->alert() == "tlsv1 alert unknown ca");
    }
}

TEST_CASE("client link: a common name with a NUL is nobody's name") {
    Folder folder;
    folder.make("alice", std::string("alice\0.evil", 11));
    TlsFiles files = folder.files("server");
    files.client_ca = folder.file("alice.crt");
    Ends ends(files, {.version = TLS1_3_VERSION,
                      .alpn = {},
                      .cert = folder.file("alice.crt"),
                      .key = folder.file("alice.key")});
    CHECK_FALSE(ends.shake());
    CHECK(ends.error == "client certificate: its common name holds a NUL");
}

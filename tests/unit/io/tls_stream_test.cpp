#include "proxy/io/tls_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/io/tls_bench.h"

using namespace pgb;

namespace {

struct Folder : CertificateFolder {
    Folder() { make("server", "server"); }
};

constexpr int kVersions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

}  // namespace

TEST_CASE("tls stream: a handshake cut at every byte is the same handshake") {
    Folder folder;
    for (const int version : kVersions) {
        auto context = TlsContext::load(folder.files("server"));
        REQUIRE(context);
        TlsStream stream(*context);
        int ends[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
        TlsClient client(ends[0], {.version = version, .alpn = {}, .cert = {}, .key = {}});
        HandshakeStep step = HandshakeStep::more;
        int calls = 0;
        for (int i = 0; i < 100000 && step == HandshakeStep::more; ++i) {
            client.shake();
            char byte = 0;
            if (read_fd(ends[1], {&byte, 1}).status == IoStatus::bytes) stream.feed({&byte, 1});
            if (stream.has_work()) {
                ++calls;
                step = stream.advance();
            }
            if (const std::string_view out = stream.output(); !out.empty()) {
                const std::string_view one = out.substr(0, 1);
                if (write_fd(ends[1], {&one, 1}).status == IoStatus::bytes) {
                    stream.output().erase(0, 1);
                }
            }
        }
        CHECK(step == HandshakeStep::done);
        // Nothing is calculated before a record is whole.
        CHECK(calls <= 5);
        close(ends[1]);
    }
}

TEST_CASE("tls stream: what is no TLS fails at its first bytes, and so does what never ends") {
    Folder folder;
    auto context = TlsContext::load(folder.files("server"));
    REQUIRE(context);
    for (const std::string& noise : {std::string("GET / HTTP/1.1\r\n"), std::string(5, '\0'),
                                     std::string("\x16\x03\x01\xff\xff", 5)}) {
        TlsStream stream(*context);
        stream.feed(noise);
        REQUIRE(stream.has_work());
        CHECK(stream.advance() == HandshakeStep::failed);
        CHECK_FALSE(stream.error().empty());
    }
    TlsStream stream(*context);
    HandshakeStep step = HandshakeStep::more;
    int records = 0;
    // Warnings may be sent for ever, as far as the rules of records go.
    const std::string part("\x16\x03\x01\x40\x00\x01\x00\xff\xf0", 9);
    while (step == HandshakeStep::more && ++records < 1000) {
        stream.feed(records == 1
                        ? part + std::string(0x4000 - 4, 'x')
                        : std::string("\x16\x03\x03\x40\x00", 5) + std::string(0x4000, 'x'));
        if (stream.has_work()) step = stream.advance();
    }
    CHECK(step == HandshakeStep::failed);
    CHECK(records <= 9);
}

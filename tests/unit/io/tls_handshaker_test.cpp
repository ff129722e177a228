#include "proxy/io/tls_handshaker.h"

#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tests/unit/io/loop_runner.h"
#include "tests/unit/io/tls_bench.h"

using namespace pgb;

namespace {

/// The first flight of a client.
std::string client_hello() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    TlsClient client(ends[0], {});
    client.shake();
    char buffer[4096];
    const ReadResult read = read_fd(ends[1], buffer);
    close(ends[1]);
    return {buffer, read.count};
}

}  // namespace

TEST_CASE("tls handshaker: every stream comes back to its own, with its answer") {
    CertificateFolder folder;
    folder.make("server", "server");
    auto context = TlsContext::load(folder.files("server"));
    REQUIRE(context);
    const std::string hello = client_hello();
    Loop loop;
    std::map<std::uint64_t, HandshakeStep> steps;
    std::map<std::uint64_t, std::size_t> answers;
    TlsHandshaker handshaker(
        loop, [&](std::uint64_t id, std::unique_ptr<TlsStream> stream, HandshakeStep step) {
            steps[id] = step;
            answers[id] = stream->output().size();
        });
    for (std::uint64_t id = 1; id <= 40; ++id) {
        auto stream = std::make_unique<TlsStream>(*context);
        stream->feed(id % 2 == 0 ? hello : "no hello at all");
        handshaker.advance(id, std::move(stream));
    }
    REQUIRE(run_until(loop, [&] { return steps.size() == 40; }));
    for (std::uint64_t id = 1; id <= 40; ++id) {
        CHECK(steps[id] == (id % 2 == 0 ? HandshakeStep::more : HandshakeStep::failed));
        // Our first flight has a certificate; an alert is short.
        CHECK((answers[id] > 200) == (id % 2 == 0));
    }
}

TEST_CASE("tls handshaker: it ends with work that nobody waits for any more") {
    CertificateFolder folder;
    folder.make("server", "server");
    auto context = TlsContext::load(folder.files("server"));
    REQUIRE(context);
    const std::string hello = client_hello();
    Loop loop;
    int told = 0;
    {
        TlsHandshaker handshaker(
            loop, [&](std::uint64_t, std::unique_ptr<TlsStream>, HandshakeStep) { ++told; });
        for (std::uint64_t id = 1; id <= 200; ++id) {
            auto stream = std::make_unique<TlsStream>(*context);
            stream->feed(hello);
            handshaker.advance(id, std::move(stream));
        }
    }
    run_turns(loop, 2);
    CHECK(told == 0);
}

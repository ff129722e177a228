#include "proxy/io/tcp_silence.h"

#include <linux/filter.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/io/tcp_pair.h"

using namespace pgb;

namespace {

using std::chrono::seconds;

Instant at(int second) { return Instant(seconds(second)); }

/// Nobody else takes its ends, and nobody reads.
struct OwnPair : TcpPair {
    OwnPair() = default;
    ~OwnPair() {
        close(near);
        close(far);
    }
    OwnPair(const OwnPair&) = delete;
    OwnPair& operator=(const OwnPair&) = delete;
};

/// From now on the kernel drops what arrives for the socket, as if its cable were cut.
void cut_cable(int fd) {
    sock_filter drop_all = {BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog program = {1, &drop_all};
    REQUIRE(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0);
}

/// The last acknowledgement may be late by the kernel's own delay.
template <typename Condition>
bool comes_true(Condition condition) {
    for (int tries = 0; tries < 5000 && !condition(); ++tries) poll(nullptr, 0, 1);
    return condition();
}

}  // namespace

TEST_CASE("tcp silence: it is over when nothing was acknowledged for the limit") {
    TcpSilence silence;
    CHECK_FALSE(silence.is_over({true, seconds(0)}, at(100), seconds(30)));
    CHECK_FALSE(silence.is_over({true, seconds(29)}, at(129), seconds(30)));
    CHECK(silence.is_over({true, seconds(30)}, at(130), seconds(30)));
}

TEST_CASE("tcp silence: what was quiet before it was sent anything is not silent yet") {
    TcpSilence silence;
    CHECK_FALSE(silence.is_over({true, seconds(90)}, at(100), seconds(30)));
    CHECK(silence.is_over({true, seconds(120)}, at(130), seconds(30)));
}

TEST_CASE("tcp silence: every acknowledgement begins it anew, and nothing awaited ends it") {
    TcpSilence silence;
    CHECK_FALSE(silence.is_over({true, seconds(0)}, at(100), seconds(30)));
    CHECK_FALSE(silence.is_over({true, seconds(5)}, at(140), seconds(30)));
    CHECK_FALSE(silence.is_over({false, seconds(39)}, at(174), seconds(30)));
    CHECK_FALSE(silence.is_over({true, seconds(40)}, at(175), seconds(30)));
    CHECK_FALSE(silence.is_over({true, seconds(900)}, at(900), seconds(0)));
}

TEST_CASE("tcp silence: a peer that does not read acknowledges, one whose cable is cut does not") {
    OwnPair slow;
    const std::string piece(std::size_t{1} << 20, 'x');
    while (write(slow.near, piece.data(), piece.size()) > 0) {
    }
    CHECK(comes_true([&] { return !tcp_progress(slow.near).awaits_peer; }));

    OwnPair gone;
    cut_cable(gone.far);
    REQUIRE(write(gone.near, "x", 1) == 1);
    CHECK(tcp_progress(gone.near).awaits_peer);

    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    REQUIRE(write(ends[0], "x", 1) == 1);
    CHECK_FALSE(tcp_progress(ends[0]).awaits_peer);
    close(ends[0]);
    close(ends[1]);
}

#include "proxy/io/signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/io/loop_runner.h"

using namespace pgb;

TEST_CASE("signals: each one arrives on the loop by its number") {
    Loop loop;
    std::vector<int> caught;
    Signals signals(loop, [&](int number) { caught.push_back(number); });
    for (const int number : {SIGHUP, SIGTERM, SIGINT}) {
        caught.clear();
        REQUIRE(raise(number) == 0);
        REQUIRE(run_until(loop, [&] { return !caught.empty(); }));
        CHECK(caught == std::vector<int>{number});
    }
}

TEST_CASE("signals: one that comes when the loop is over does no harm") {
    {
        Loop loop;
        Signals signals(loop, [](int) {});
    }
    CHECK(raise(SIGTERM) == 0);
}

TEST_CASE("signals: a write to a closed pipe is an error after ignore_sigpipe") {
    ignore_sigpipe();
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    close(ends[0]);
    CHECK(write(ends[1], "x", 1) == -1);
    CHECK(errno == EPIPE);
    close(ends[1]);
}

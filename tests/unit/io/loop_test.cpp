#include "proxy/io/loop.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "proxy/io/random.h"
#include "proxy/io/socket.h"
#include "proxy/io/waker.h"
#include "tests/support/catch.h"
#include "tests/unit/io/loop_runner.h"

using namespace pgb;
using namespace std::chrono_literals;

namespace {

Instant clock_now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return Instant(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

struct Recorder final : SocketEvents {
    Recorder(std::vector<std::string>& log, std::string name) : log_(log), name_(std::move(name)) {}
    virtual ~Recorder() = default;
    void on_ready(bool readable, bool writable) override {
        log_.push_back(name_ + (readable ? " r" : "") + (writable ? " w" : ""));
    }

private:
    std::vector<std::string>& log_;
    std::string name_;
};

}  // namespace

TEST_CASE("loop: the turn ends once, after all ready events of the turn") {
    Loop loop;
    int left[2];
    int right[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, left) == 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, right) == 0);
    std::vector<std::string> log;
    Recorder a(log, "a");
    Recorder b(log, "b");
    Socket first(loop, left[0], a);
    Socket second(loop, right[0], b);
    first.watch(true, false);
    second.watch(true, true);
    REQUIRE(write(left[1], "x", 1) == 1);
    REQUIRE(write(right[1], "x", 1) == 1);
    int turns = 0;
    loop.set_turn_end([&] {
        log.push_back("end");
        if (++turns == 2) loop.stop();
    });
    loop.run();
    // Level-triggered: nobody read, so both come again.
    CHECK(log == std::vector<std::string>{"a r", "b r w", "end", "a r", "b r w", "end"});
    close(left[1]);
    close(right[1]);
}

TEST_CASE("loop: a timer never fires early and gets a turn end before the loop waits") {
    Loop loop;
    const Instant at = loop.now() + 2500us;
    Instant fired;
    bool in_callback = false;
    Timer timer(loop, [&] {
        fired = clock_now();
        in_callback = true;
    });
    timer.arm(at);
    CHECK(timer.is_armed());
    // Nothing else happens here: without a turn of its own the loop would wait for ever.
    REQUIRE(run_until(loop, [&] { return in_callback; }));
    CHECK(fired >= at);
    CHECK_FALSE(timer.is_armed());
}

TEST_CASE("loop: a timer armed anew forgets the instant of before") {
    Loop loop;
    std::vector<int> fired;
    Timer early(loop, [&] { fired.push_back(1); });
    Timer late(loop, [&] { fired.push_back(2); });
    early.arm(loop.now());
    early.arm(loop.now() + 1h);
    late.arm(loop.now() + 1h);
    late.arm(loop.now() + 1ms);
    REQUIRE(run_until(loop, [&] { return !fired.empty(); }));
    CHECK(fired == std::vector<int>{2});
    CHECK(early.is_armed());
    early.disarm();
    CHECK_FALSE(early.is_armed());
}

TEST_CASE("loop: the time stands still within a turn and moves between turns") {
    Loop loop;
    std::vector<Instant> seen;
    bool moved_within = false;
    REQUIRE(run_until(loop, [&] {
        const Instant now = loop.now();
        while (clock_now() <= now) {
        }
        moved_within = moved_within || loop.now() != now;
        seen.push_back(now);
        loop.again();
        return seen.size() == 4;
    }));
    CHECK_FALSE(moved_within);
    CHECK(seen[0] < seen[1]);
    CHECK(seen[1] < seen[2]);
    CHECK(seen[2] < seen[3]);
}

TEST_CASE("loop: functions posted by other threads run in order on the loop's thread") {
    Loop loop;
    std::vector<int> order;
    bool same_thread = true;
    const auto home = std::this_thread::get_id();
    std::thread other([&] {
        for (int i = 0; i < 1000; ++i) {
            loop.post([&, i] {
                same_thread = same_thread && std::this_thread::get_id() == home;
                order.push_back(i);
            });
        }
    });
    REQUIRE(run_until(loop, [&] { return order.size() == 1000; }));
    other.join();
    CHECK(same_thread);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("loop: a waker that has died is not called for a wish of before") {
    Loop loop;
    int looked = 0;
    {
        Waker waker(loop, [&] { ++looked; });
        waker.wake();
        waker.wake();
        REQUIRE(run_until(loop, [&] { return looked > 0; }));
        CHECK(looked == 1);
        waker.wake();
    }
    run_turns(loop, 3);
    CHECK(looked == 1);
}

TEST_CASE("random: two draws differ and have the size asked for") {
    CHECK(random_bytes(0).empty());
    CHECK(random_bytes(300).size() == 300);
    CHECK(random_bytes(32) != random_bytes(32));
}

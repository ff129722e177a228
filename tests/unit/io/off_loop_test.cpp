#include "proxy/io/off_loop.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "proxy/base/secret.h"
#include "proxy/io/loop.h"
#include "proxy/io/peer_name.h"
#include "proxy/io/secret_memory.h"
#include "tests/support/catch.h"
#include "tests/unit/io/loop_runner.h"

namespace pgb {

namespace {

// What happened to the pieces of one test, in order; `at_once` is the most that ever ran together.
struct Book {
    std::vector<int> done;
    std::atomic<int> running{0};
    std::atomic<int> at_once{0};
    std::atomic<bool> on_loop_thread{false};
    std::thread::id loop_thread = std::this_thread::get_id();
};

class Piece final : public OffLoopWork {
public:
    Piece(Book& book, int number) : book_(book), number_(number) {}

    void run() override {
        const int running = ++book_.running;
        if (running > book_.at_once) book_.at_once = running;
        if (std::this_thread::get_id() == book_.loop_thread) book_.on_loop_thread = true;
        --book_.running;
    }
    void done() override { book_.done.push_back(number_); }

private:
    Book& book_;
    int number_;
};

}  // namespace

TEST_CASE(
    "off_loop: all work is done on other threads, no more at once than allowed, and told here") {
    Loop loop;
    Book book;
    OffLoop off_loop(loop, 2);
    for (int i = 0; i < 50; ++i) off_loop.run(std::make_unique<Piece>(book, i));
    CHECK(off_loop.running_count() == 2);
    CHECK(off_loop.waiting_count() == 48);
    CHECK(run_until(loop, [&] { return book.done.size() == 50; }));
    CHECK_FALSE(book.on_loop_thread);
    CHECK(book.at_once <= 2);
    CHECK(off_loop.running_count() == 0);
}

TEST_CASE("off_loop: what is urgent goes before what waits") {
    Loop loop;
    Book book;
    OffLoop off_loop(loop, 1);
    for (int i = 0; i < 3; ++i) off_loop.run(std::make_unique<Piece>(book, i));
    off_loop.run(std::make_unique<Piece>(book, 9), OffLoop::Place::first);
    CHECK(run_until(loop, [&] { return book.done.size() == 4; }));
    CHECK(book.done == std::vector<int>{0, 9, 1, 2});
}

TEST_CASE("off_loop: who goes away is told nothing of what still runs") {
    Loop loop;
    Book book;
    {
        OffLoop off_loop(loop, 2);
        for (int i = 0; i < 10; ++i) off_loop.run(std::make_unique<Piece>(book, i));
    }
    run_turns(loop, 5);
    CHECK(book.done.empty());
}

TEST_CASE("secret memory: it holds its text wherever it is moved") {
    SecretMemory memory(std::string_view("a secret"));
    const char* const place = memory.view().data();
    SecretMemory moved = std::move(memory);
    CHECK(moved.view() == "a secret");
    CHECK(moved.view().data() == place);
    moved = SecretMemory(std::string_view("another"));
    CHECK(moved.view() == "another");
    CHECK(SecretMemory(std::string_view()).view().empty());
}

TEST_CASE("secret memory: a file is read whole, and one that is none or too long is refused") {
    const std::string path = "/tmp/pgbulkhead-secret-" + std::to_string(getpid());
    std::FILE* file = std::fopen(path.c_str(), "w");
    REQUIRE(file != nullptr);
    std::fputs("\"a\" \"b\"\n", file);
    std::fclose(file);
    auto read = read_secret_file(path, 100);
    REQUIRE(read);
    CHECK(read->view() == "\"a\" \"b\"\n");
    CHECK(read_secret_file(path, 8));
    CHECK_FALSE(read_secret_file(path, 7));
    std::remove(path.c_str());
    CHECK_FALSE(read_secret_file(path, 100));
    CHECK_FALSE(read_secret_file("/tmp", 100));
    CHECK_FALSE(read_secret_file("/dev/zero", 100));
}

TEST_CASE("secret: moved or copied it is the same text, and what it was moved from is empty") {
    Secret one("secret");
    const Secret copy = one;
    Secret moved = std::move(one);
    CHECK(copy.text() == "secret");
    CHECK(moved.text() == "secret");
    moved = Secret("other");
    CHECK(moved.text() == "other");
    moved = copy;
    CHECK(moved.text() == "secret");
    Secret taken;
    taken = std::move(moved);
    CHECK(taken.text() == "secret");
    CHECK(moved.empty());  // NOLINT(bugprone-use-after-move): what is left is said to be empty.
}

TEST_CASE("peer name: the user that this process runs as has a name, and no number without one") {
    const auto name = user_name(getuid());
    REQUIRE(name);
    CHECK_FALSE(name->empty());
    CHECK_FALSE(user_name(0xfffffff0));
    CHECK_FALSE(peer_user_id(-1));
}

}  // namespace pgb

#include "proxy/io/process_facts.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "proxy/io/clock.h"
#include "proxy/io/limits.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

ProcessFigures figures(const ProcessFacts& facts) {
    const std::optional<ProcessFigures> read = facts.read();
    REQUIRE(read.has_value());
    return *read;
}

}  // namespace

TEST_CASE("process facts: descriptors, memory and time are those of this process") {
    const ProcessFacts facts;
    const ProcessFigures before = figures(facts);
    const int more = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(figures(facts).open_fds == before.open_fds + 1);
    close(more);
    CHECK(figures(facts).open_fds == before.open_fds);

    std::string memory(std::size_t{64} << 20, 'x');
    CHECK(memory.back() == 'x');
    const ProcessFigures after = figures(facts);
    CHECK(after.resident_bytes > before.resident_bytes + (std::uint64_t{50} << 20));
    CHECK(after.virtual_bytes > after.resident_bytes);
    CHECK(after.cpu_seconds >= before.cpu_seconds);
    CHECK(after.cpu_seconds > 0);

    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(after.max_fds >= static_cast<double>(limit.rlim_cur));
}

TEST_CASE("process facts: the start is in the past, and the same whenever one asks") {
    const ProcessFacts facts;
    const double started = figures(facts).start_time_seconds;
    CHECK(started < unix_seconds() + 0.02);
    CHECK(started > unix_seconds() - 3600);
    CHECK(figures(facts).start_time_seconds == started);
}

TEST_CASE("process facts: a process that forbids dumps still sees itself") {
    forbid_dumps();
    CHECK(ProcessFacts().read().has_value());
}

}  // namespace pgb::test

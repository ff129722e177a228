#include <sstream>

#include "proxy/cli/text_table.h"
#include "proxy/cli/top_screen.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

std::string state(const std::string& at, const std::string& refused,
                  const std::string& client = "billing") {
    return R"({"version": "3.9", "instance": 7, "at": )" + at +
           R"(, "uptime_seconds": 90, "readiness": "ready", "clients": 12, "workloads": [
        {"name": "reports", "housekeeping": false, "mode": "enforce", "concurrency": 8, "queue": 4,
         "running": 6, "waiting": 4, "rejected": {"queue_full": )" +
           refused + R"(, "queue_timeout": 1},
         "wait_seconds": {"count": 2, "p50": 0.25, "p99": 2.5},
         "hold_seconds": {"count": 0, "p50": null, "p99": null}}],
      "databases": [{"name": "*", "pool_size": 10, "waiting": 3, "reachable": false, "paused": false,
         "backends": {"connecting": 0, "idle": 1, "lent": 6, "pinned": 0}}],
      "events": [{"at": 98, "kind": "overload_began", "subject": "reports", "text": "queue_full"}],
      "holders": {"left_out": 2, "oldest": [{"age_seconds": 34, "workload": "reports",
         "state": "idle_in_transaction", "pid": 4711, "client": "10.0.0.7:5", "application_name": ")" +
           client + R"(", "statement": "select ? from t"}]}})";
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("top: it tells who is refused, who holds and what happened") {
    const auto drawn = draw_top(state("100", "20"), state("90", "10"), {.width = 140});
    REQUIRE(drawn.has_value());
    CHECK(has(*drawn, "12 clients  ready"));
    CHECK(has(*drawn, "#######"));
    CHECK(has(*drawn, "6/8"));
    CHECK(has(*drawn, "1.0"));
    CHECK(has(*drawn, "250ms/2.5s"));
    CHECK(has(*drawn, "queue_full"));
    CHECK(has(*drawn, "6 busy, 1 idle, 3 wait; CANNOT BE REACHED"));
    CHECK(has(*drawn, "2.0s ago  overload_began  reports"));
    CHECK(has(*drawn, "idle_in_transaction"));
    CHECK(has(*drawn, "select ? from t"));
    CHECK(has(*drawn, "and 2 more"));
    CHECK_FALSE(has(*drawn, "\x1b"));
}

TEST_CASE("top: no line is wider than the terminal, and the names stay") {
    for (const std::size_t width : {20UL, 40UL, 60UL, 80UL, 200UL}) {
        const auto drawn = draw_top(state("100", "20"), "", {.width = width});
        REQUIRE(drawn.has_value());
        for (const std::string& line : lines(*drawn)) CHECK(width_of(line) <= width);
        CHECK(has(*drawn, "reports"));
    }
}

TEST_CASE("top: colours only where they are wanted, and never from a client") {
    const std::string hostile = "\\u001b[2J\\u009b1m\\n";
    const auto plain = draw_top(state("100", "20", hostile), "", {.width = 140});
    REQUIRE(plain.has_value());
    CHECK_FALSE(has(*plain, "\x1b"));
    CHECK_FALSE(has(*plain, "\xc2\x9b"));
    const auto coloured = draw_top(state("100", "20"), state("90", "10"), {.colours = true});
    CHECK(has(*coloured, "\x1b[1;31m"));
}

TEST_CASE("top: rates begin anew with another start of the proxy") {
    std::string other = state("90", "10");
    other.replace(other.find("\"instance\": 7"), 13, "\"instance\": 6");
    const auto drawn = draw_top(state("100", "20"), other, {.width = 140});
    REQUIRE(drawn.has_value());
    CHECK_FALSE(has(*drawn, "1.0 "));
}

TEST_CASE("top: what is no state is none") {
    for (const char* text : {"", "[]", "{}", "<html>", R"({"version": 1})"}) {
        CHECK_FALSE(draw_top(text, "", {}).has_value());
    }
}

TEST_CASE("text table: a text is cut between characters and its control characters are not drawn") {
    CHECK(drawable("abc", 3) == "abc");
    CHECK(drawable("abcd", 3) == "ab~");
    CHECK(drawable("h\u00e9\u00e9\u00e9", 3) == "h\u00e9~");
    CHECK(drawable("a\tb\x7f", 9) == "a?b?");
    CHECK(width_of("h\u00e9") == 2);
}

}  // namespace
}  // namespace pgb::test

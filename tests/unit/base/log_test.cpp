#include "proxy/base/log.h"

#include <string>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

std::string logfmt(std::string_view value) {
    return render_log_line(LogFormat::logfmt, "info", "seen", {{"user", value}});
}
std::string json(std::string_view value) {
    return render_log_line(LogFormat::json, "info", "seen", {{"user", value}});
}

TEST_CASE("log: a plain value stands as it is in logfmt, and in quotes in JSON") {
    CHECK(logfmt("ann") == "level=info event=seen user=ann");
    CHECK(json("ann") == R"("level":"info","event":"seen","user":"ann"})");
}

TEST_CASE("log: an event without fields and one with several are whole lines") {
    CHECK(render_log_line(LogFormat::logfmt, "warn", "gone", {}) == "level=warn event=gone");
    CHECK(render_log_line(LogFormat::logfmt, "warn", "gone", {{"n", 3}, {"why", "tcp reset"}}) ==
          "level=warn event=gone n=3 why=\"tcp reset\"");
    CHECK(render_log_line(LogFormat::json, "warn", "gone", {{"n", 3}}) ==
          R"("level":"warn","event":"gone","n":"3"})");
}

TEST_CASE("log: no value can end its field, its line or its quotes") {
    CHECK(logfmt("") == "level=info event=seen user=\"\"");
    CHECK(logfmt("a b") == "level=info event=seen user=\"a b\"");
    CHECK(logfmt("a=b") == "level=info event=seen user=\"a=b\"");
    CHECK(logfmt("a\"b") == "level=info event=seen user=\"a\\\"b\"");
    CHECK(logfmt("a\\b") == "level=info event=seen user=\"a\\\\b\"");
    CHECK(logfmt("x\nlevel=error event=forged") ==
          "level=info event=seen user=\"x\\nlevel=error event=forged\"");
    CHECK(json("x\"},{\"event\":\"forged") ==
          R"("level":"info","event":"seen","user":"x\"},{\"event\":\"forged"})");
}

TEST_CASE("log: no byte of any value reaches the line as a control byte") {
    for (int byte = 0; byte < 256; ++byte) {
        const std::string value = {'a', static_cast<char>(byte), 'b'};
        for (const std::string& line : {logfmt(value), json(value)}) {
            for (const char c : line) {
                const auto seen = static_cast<unsigned char>(c);
                INFO("byte " << byte << " in " << line);
                REQUIRE(seen >= 0x20);
                REQUIRE(seen != 0x7f);
            }
        }
    }
}

TEST_CASE("log: escape sequences of a terminal are spelled out") {
    CHECK(logfmt("\x1b[2J") == "level=info event=seen user=\"\\u001b[2J\"");
    CHECK(logfmt(std::string_view("\0", 1)) == "level=info event=seen user=\"\\u0000\"");
    CHECK(logfmt("\r") == "level=info event=seen user=\"\\u000d\"");
    CHECK(logfmt("\x7f") == "level=info event=seen user=\"\\u007f\"");
}

TEST_CASE("log: braces of a value are not a format") {
    CHECK(logfmt("{}") == "level=info event=seen user={}");
    CHECK(logfmt("{0:x}") == "level=info event=seen user={0:x}");
}

TEST_CASE("log: levels below the wanted one are not written") {
    Log log(LogLevel::warn, LogFormat::logfmt);
    CHECK(!log.would_write(LogLevel::debug));
    CHECK(!log.would_write(LogLevel::info));
    CHECK(log.would_write(LogLevel::warn));
    CHECK(log.would_write(LogLevel::error));
    log.set_level(LogLevel::info);
    CHECK(!log.would_write(LogLevel::debug));
    CHECK(log.would_write(LogLevel::info));
}

}  // namespace
}  // namespace pgb::test

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

TEST_CASE("log: characters beyond ASCII stand as they are, controls and broken ones do not") {
    for (const char* good : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\x98", "\xc2\xa0"}) {
        CHECK(logfmt(good) == std::string("level=info event=seen user=") + good);
    }
    CHECK(logfmt("\xc2\x9b") == "level=info event=seen user=\"\\u00c2\\u009b\"");
    CHECK(logfmt("\xff") == "level=info event=seen user=\"\\u00ff\"");
    for (const char* bad : {"\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xe2\x82",
                            "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "\x80", "\xf5\x80\x80\x80"}) {
        for (const char c : json(bad)) CHECK(static_cast<unsigned char>(c) < 0x80);
    }
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

#include "proxy/session/refusal.h"

#include <chrono>
#include <string>
#include <string_view>

#include "protocol/error_response.h"
#include "protocol/writer.h"
#include "tests/support/catch.h"

namespace pgb {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

ShedFacts reports_full() {
    ShedFacts facts;
    facts.reason = ShedReason::queue_full;
    facts.workload = "reports";
    facts.sqlstate = "40001";
    facts.retry_after = milliseconds(250);
    facts.running = 3;
    facts.limit = 3;
    facts.waiting = 6;
    facts.queue = 6;
    return facts;
}

std::string refusal(const ShedFacts& facts) {
    std::string out;
    append_refusal(out, facts);
    return out;
}

// Views into `bytes`, which must be one ErrorResponse and nothing behind it.
ErrorFields fields_of(const std::string& bytes) {
    REQUIRE(bytes.size() > 5);
    REQUIRE(bytes[0] == 'E');
    const auto fields = parse_error(std::string_view(bytes).substr(5));
    REQUIRE(fields);
    return *fields;
}

}  // namespace

TEST_CASE("refusal: the ErrorResponse has exactly the contract's fields in its order") {
    std::string expected;
    MessageWriter(expected)
        .begin('E')
        .cstring("SERROR")
        .cstring("VERROR")
        .cstring("C40001")
        .cstring("Madmission rejected for workload \"reports\" (queue_full); retry after 250 ms")
        .cstring("Drunning=3 limit=3 waiting=6 queue=6 waited_ms=0")
        .cstring("Hretry_after_ms=250 reason=queue_full workload=reports")
        .cstring("Fpgbulkhead")
        .cstring("L1")
        .cstring("Radmission_reject")
        .u8(0)
        .end();
    CHECK(refusal(reports_full()) == expected);
}

TEST_CASE("refusal: it is appended behind what is already there") {
    std::string out = "before";
    append_refusal(out, reports_full());
    CHECK(out == "before" + refusal(reports_full()));
}

TEST_CASE("refusal: every reason is an ERROR that names itself in MESSAGE and HINT") {
    for (const ShedReason reason : kShedReasons) {
        const std::string word(to_word(reason));
        INFO(word);
        ShedFacts facts = reports_full();
        facts.reason = reason;
        const std::string bytes = refusal(facts);
        const ErrorFields fields = fields_of(bytes);
        CHECK(fields.severity == "ERROR");
        CHECK(fields.severity_fixed == "ERROR");
        CHECK_FALSE(is_fatal(fields));
        CHECK(fields.message.find("(" + word + ")") != std::string_view::npos);
        CHECK(fields.message.find("\"reports\"") != std::string_view::npos);
        CHECK(fields.hint == "retry_after_ms=250 reason=" + word + " workload=reports");
        CHECK(fields.routine == "admission_reject");
        CHECK(fields.constraint.empty());
        CHECK(fields.position.empty());
    }
}

TEST_CASE("refusal: the SQLSTATE is the workload's, but that of pin_limit is always 54000") {
    for (const ShedReason reason : kShedReasons) {
        INFO(to_word(reason));
        ShedFacts facts = reports_full();
        facts.reason = reason;
        facts.sqlstate = "55P03";
        const std::string bytes = refusal(facts);
        CHECK(fields_of(bytes).sqlstate == (reason == ShedReason::pin_limit ? "54000" : "55P03"));
    }
}

TEST_CASE("refusal: pin_limit does not promise that a retry would help") {
    ShedFacts facts = reports_full();
    facts.reason = ShedReason::pin_limit;
    const std::string bytes = refusal(facts);
    CHECK(fields_of(bytes).message ==
          "too many sessions of workload \"reports\" keep a backend of their own (pin_limit)");
}

TEST_CASE("refusal: retry_after is whole milliseconds and never below one") {
    const struct {
        Duration given;
        const char* told;
    } cases[] = {{Duration(0), "1"},           {Duration(-5), "1"},    {seconds(-1), "1"},
                 {microseconds(999), "1"},     {milliseconds(1), "1"}, {microseconds(2500), "2"},
                 {milliseconds(2000), "2000"}, {seconds(60), "60000"}};
    for (const auto& [given, told] : cases) {
        INFO(told);
        ShedFacts facts = reports_full();
        facts.retry_after = given;
        const std::string bytes = refusal(facts);
        const ErrorFields fields = fields_of(bytes);
        CHECK(fields.hint ==
              "retry_after_ms=" + std::string(told) + " reason=queue_full workload=reports");
        CHECK(fields.message ==
              "admission rejected for workload \"reports\" (queue_full); retry "
              "after " +
                  std::string(told) + " ms");
    }
}

TEST_CASE("refusal: DETAIL shows the numbers of the moment") {
    ShedFacts facts = reports_full();
    facts.reason = ShedReason::queue_timeout;
    facts.running = 17;
    facts.limit = 20;
    facts.waiting = 4294967295;
    facts.queue = 64;
    facts.waited = milliseconds(1500) + microseconds(900);
    const std::string bytes = refusal(facts);
    CHECK(fields_of(bytes).detail ==
          "running=17 limit=20 waiting=4294967295 queue=64 waited_ms=1500");
}

TEST_CASE("refusal: the cause of a backend that is down stands at the end of DETAIL") {
    ShedFacts facts = reports_full();
    facts.reason = ShedReason::backend_down;
    facts.cause = "FATAL: the database system is starting up";
    const std::string bytes = refusal(facts);
    CHECK(fields_of(bytes).detail ==
          "running=3 limit=3 waiting=6 queue=6 waited_ms=0 "
          "cause=FATAL: the database system is starting up");
}

TEST_CASE("refusal: a long workload name is told whole") {
    const std::string name(300, 'w');
    ShedFacts facts = reports_full();
    facts.workload = name;
    const std::string bytes = refusal(facts);
    const ErrorFields fields = fields_of(bytes);
    CHECK(fields.hint == "retry_after_ms=250 reason=queue_full workload=" + name);
    CHECK(fields.message ==
          "admission rejected for workload \"" + name + "\" (queue_full); retry after 250 ms");
}

TEST_CASE("refusal: no text holds what client libraries take for a dead connection") {
    for (const ShedReason reason : kShedReasons) {
        ShedFacts facts = reports_full();
        facts.reason = reason;
        const std::string bytes = refusal(facts);
        for (const char* words : {"terminating connection",
                                  "closed the connection",
                                  "connection not open",
                                  "could not receive data from server",
                                  "could not send data to server",
                                  "connection already closed",
                                  "cursor already closed",
                                  "SSL error",
                                  "SSL SYSCALL error",
                                  "no connection to the server",
                                  "connection is closed",
                                  "query_wait_timeout",
                                  "Lost connection",
                                  "Connection lost",
                                  "reset by peer",
                                  "server is shutting down",
                                  "went away",
                                  "Broken pipe",
                                  "failed to connect to",
                                  "connection is no longer usable",
                                  "connection limit exceeded",
                                  "canceling statement due to",
                                  "deadlock detected",
                                  "database is locked",
                                  "could not serialize access"}) {
            INFO(to_word(reason) << ": " << words);
            CHECK(bytes.find(words) == std::string::npos);
        }
    }
}

TEST_CASE("refusal: a backend that cannot be had for good speaks in PostgreSQL's words") {
    std::string bytes;
    append_backend_unavailable(bytes, "3D000", "database \"shop\" does not exist");
    const ErrorFields fields = fields_of(bytes);
    CHECK(fields.severity == "ERROR");
    CHECK(fields.sqlstate == "3D000");
    CHECK(fields.message == "database \"shop\" does not exist");
    CHECK(fields.hint.empty());
    CHECK(fields.detail.empty());
}

}  // namespace pgb

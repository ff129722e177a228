#include "protocol/error_response.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/protocol/message_bytes.h"

namespace pgb {

namespace {
const std::string kAdmission =
    "SERROR\0VERROR\0C40001\0Mrefused\0Din_use=1\0Hreason=queue_full\0Fpgbulkhead\0L1\0"
    "Radmission_reject\0\0"_bytes;
}

TEST_CASE("error_response: the fields stand in PostgreSQL's order and empty ones are left out") {
    const ErrorFields fields{.sqlstate = "40001",
                             .message = "refused",
                             .detail = "in_use=1",
                             .hint = "reason=queue_full",
                             .routine = "admission_reject"};
    std::string out;
    append_error(out, fields);
    CHECK(out == message('E', kAdmission));
    out.clear();
    append_notice(out, fields);
    CHECK(out == message('N', kAdmission));
}

TEST_CASE("error_response: severity, code and message are there even when they are empty") {
    std::string out;
    append_error(out, {.severity = "", .file = "", .line = ""});
    CHECK(out == message('E', "S\0V\0C\0M\0\0"_bytes));
}

TEST_CASE("error_response: all fields survive the round trip") {
    const ErrorFields fields{.severity = "FEHLER",
                             .severity_fixed = "FATAL",
                             .sqlstate = "57P01",
                             .message = "m",
                             .detail = "d",
                             .hint = "h",
                             .position = "1",
                             .internal_position = "2",
                             .internal_query = "iq",
                             .where = "w",
                             .schema = "s",
                             .table = "t",
                             .column = "c",
                             .data_type = "dt",
                             .constraint = "n",
                             .file = "f.c",
                             .line = "3",
                             .routine = "r"};
    std::string out;
    append_error(out, fields);
    const std::string body = out.substr(5);
    const std::optional<ErrorFields> parsed = parse_error(body);
    REQUIRE(parsed);
    std::string again;
    append_error(again, *parsed);
    CHECK(again == out);
    CHECK(parsed->severity_fixed == "FATAL");
    CHECK(parsed->internal_query == "iq");
}

TEST_CASE("error_response: no beginning of a body is taken for a body") {
    for (std::size_t cut = 0; cut < kAdmission.size(); ++cut) {
        CHECK_FALSE(parse_error(std::string_view(kAdmission).substr(0, cut)).has_value());
    }
    CHECK(parse_error(kAdmission).has_value());
    CHECK_FALSE(parse_error(kAdmission + "x").has_value());
}

TEST_CASE("error_response: absent fields are empty and never our own defaults") {
    const std::string body = "C57P01\0\0"_bytes;
    const std::optional<ErrorFields> parsed = parse_error(body);
    REQUIRE(parsed);
    CHECK(parsed->sqlstate == "57P01");
    CHECK(parsed->severity.empty());
    CHECK(parsed->file.empty());
    CHECK(parsed->line.empty());
}

TEST_CASE("error_response: unknown fields are skipped and the first of two counts") {
    const std::string body = "?new\0C57P01\0C40001\0\0"_bytes;
    const std::optional<ErrorFields> parsed = parse_error(body);
    REQUIRE(parsed);
    CHECK(parsed->sqlstate == "57P01");
}

TEST_CASE("error_response: fatality goes by the fixed severity and without it by the other") {
    CHECK(is_fatal({.severity = "FATAL"}));
    CHECK(is_fatal({.severity = "PANIC"}));
    CHECK(is_fatal({.severity = "FATAL ERROR in some language", .severity_fixed = "FATAL"}));
    CHECK_FALSE(is_fatal({.severity = "FATAL", .severity_fixed = "ERROR"}));
    CHECK_FALSE(is_fatal({.severity = "ERROR"}));
    CHECK_FALSE(is_fatal({.severity = "WARNING"}));
}

}  // namespace pgb

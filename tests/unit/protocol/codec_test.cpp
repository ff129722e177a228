#include <string>
#include <string_view>

#include "protocol/cursor.h"
#include "protocol/ready_for_query.h"
#include "protocol/rows.h"
#include "protocol/sqlstate.h"
#include "protocol/writer.h"
#include "tests/support/catch.h"
#include "tests/unit/protocol/message_bytes.h"

namespace pgb {

TEST_CASE("writer: integers are big-endian and the length word counts itself but not the type") {
    std::string out = "before";
    MessageWriter writer(out);
    writer.begin('x').u8(1).u16(0x0203).i16(-2).u32(0x04050607).i32(-1).bytes("ab").end();
    CHECK(out ==
          "beforex\0\0\0\x13\x01\x02\x03\xff\xfe\x04\x05\x06\x07\xff\xff\xff\xff"
          "ab"_bytes);
}

TEST_CASE("writer: a string ends at its first zero byte, so it cannot become two") {
    std::string out;
    MessageWriter writer(out);
    writer.begin('x').cstring("ab"_bytes).cstring("c\0d"_bytes).end();
    CHECK(out == message('x', "ab\0c\0"_bytes));
}

TEST_CASE("writer: one writer makes several messages") {
    std::string out;
    MessageWriter writer(out);
    writer.begin(BackendType::parse_complete).end();
    writer.begin(FrontendType::sync).end();
    CHECK(out == "1\0\0\0\4S\0\0\0\4"_bytes);
}

TEST_CASE("cursor: reads what the writer wrote") {
    std::string out;
    MessageWriter writer(out);
    writer.u8(200).u16(60000).i16(-3).u32(0x80000001).i32(-70000).cstring("name").bytes("xyz");
    Cursor cursor(out);
    CHECK(cursor.u8() == 200);
    CHECK(cursor.u16() == 60000);
    CHECK(cursor.i16() == -3);
    CHECK(cursor.u32() == 0x80000001);
    CHECK(cursor.i32() == -70000);
    CHECK(cursor.cstring() == "name");
    CHECK(cursor.bytes(2) == "xy");
    CHECK_FALSE(cursor.at_end());
    CHECK(cursor.bytes(1) == "z");
    CHECK(cursor.at_end());
    CHECK(cursor.bytes(0).empty());
    CHECK(cursor.at_end());
}

TEST_CASE("cursor: a read that does not fit fails, consumes nothing, and so do all later ones") {
    Cursor cursor("abc");
    CHECK(cursor.u32() == 0);
    CHECK(cursor.failed());
    CHECK(cursor.remaining() == "abc");
    CHECK(cursor.u8() == 0);
    CHECK(cursor.bytes(1).empty());
    CHECK(cursor.cstring().empty());
    CHECK_FALSE(cursor.at_end());
}

TEST_CASE("cursor: a string without its zero byte fails") {
    Cursor cursor("abc");
    CHECK(cursor.cstring().empty());
    CHECK(cursor.failed());
    const std::string one_zero = "\0"_bytes;
    Cursor empty(one_zero);
    CHECK(empty.cstring().empty());
    CHECK(empty.at_end());
}

TEST_CASE("cursor: a size near the largest does not wrap") {
    Cursor cursor("abc");
    CHECK(cursor.bytes(static_cast<std::size_t>(-1)).empty());
    CHECK(cursor.failed());
}

TEST_CASE("ready_for_query: each status survives the round trip and nothing else is one") {
    for (const auto status :
         {TransactionStatus::idle, TransactionStatus::in_block, TransactionStatus::failed}) {
        std::string out;
        append_ready_for_query(out, status);
        REQUIRE(out == message('Z', std::string(1, static_cast<char>(status))));
        CHECK(parse_ready_for_query(out.substr(5)) == status);
    }
    for (const std::string_view body : {"", "X", "II", "i"}) {
        CHECK_FALSE(parse_ready_for_query(body).has_value());
    }
}

TEST_CASE("rows: local answers have the bytes that PostgreSQL sends") {
    const auto bytes_of = [](auto append) {
        std::string out;
        append(out);
        return out;
    };
    CHECK(bytes_of(append_parse_complete) == "1\0\0\0\4"_bytes);
    CHECK(bytes_of(append_bind_complete) == "2\0\0\0\4"_bytes);
    CHECK(bytes_of(append_close_complete) == "3\0\0\0\4"_bytes);
    CHECK(bytes_of(append_no_data) == "n\0\0\0\4"_bytes);
    CHECK(bytes_of(append_empty_query_response) == "I\0\0\0\4"_bytes);
    CHECK(bytes_of([](std::string& out) { append_parameter_description(out, {}); }) ==
          "t\0\0\0\6\0\0"_bytes);
    CHECK(bytes_of([](std::string& out) {
              append_parameter_description(out, "\0\0\0\x17\0\0\0\x19"_bytes);
          }) == message('t', "\0\2\0\0\0\x17\0\0\0\x19"_bytes));
    CHECK(bytes_of([](std::string& out) { append_command_complete(out, "BEGIN"); }) ==
          "C\0\0\0\nBEGIN\0"_bytes);
    CHECK(bytes_of([](std::string& out) { append_text_row_description(out, {"a"}); }) ==
          message('T', "\0\1a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"_bytes));
    CHECK(bytes_of([](std::string& out) {
              append_text_row(out, {"42", ""});
          }) == message('D',
                        "\0\2\0\0\0\2"
                        "42\0\0\0\0"_bytes));
}

TEST_CASE("sqlstate: the class is the first two of exactly five characters") {
    CHECK(sqlstate::sqlstate_class(sqlstate::kProtocolViolation) == "08");
    CHECK(sqlstate::sqlstate_class("4000").empty());
    CHECK(sqlstate::sqlstate_class("").empty());
}

}  // namespace pgb

#include "protocol/request.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/protocol/message_bytes.h"

namespace pgb {

namespace {

// Of a message with this body every bounded beginning must be truncated and nothing else: what is
// there is no fault yet.
template <typename Parse>
void check_every_cut(Parse parse, const std::string& body) {
    REQUIRE(parse(body, true).well_formed());
    REQUIRE_FALSE(parse(body, true).truncated);
    for (std::size_t cut = 0; cut <= body.size(); ++cut) {
        const auto request = parse(std::string_view(body).substr(0, cut), false);
        CHECK(request.well_formed());
        CHECK(request.truncated);
    }
}

// And as whole messages the same beginnings are all faulty.
template <typename Parse>
void check_every_short_message(Parse parse, const std::string& body) {
    for (std::size_t cut = 0; cut < body.size(); ++cut) {
        const auto request = parse(std::string_view(body).substr(0, cut), true);
        CHECK_FALSE(request.well_formed());
        CHECK_FALSE(request.truncated);
    }
    CHECK(parse(body + 'x', true).fault == MessageFault::invalid_format);
}

template <typename Parse>
void check_shape(Parse parse, const std::string& body) {
    check_every_cut(parse, body);
    check_every_short_message(parse, body);
}

const std::string kBind =
    "p1\0s1\0\0\1\0\1\0\3\0\0\0\2ab\xff\xff\xff\xff\0\0\0\0\0\2\0\1\0\0"_bytes;

}  // namespace

TEST_CASE("request: decoders read what the manual's formats say") {
    CHECK(parse_query("select 1\0"_bytes, true).text == "select 1");

    const std::string parse_body = "s1\0select $1\0\0\1\0\0\0\x17"_bytes;
    const ParseRequest parse = parse_parse(parse_body, true);
    CHECK(parse.name == "s1");
    CHECK(parse.text == "select $1");
    CHECK(parse.parameter_type_count == 1);
    CHECK((parse.name_complete && parse.text_complete && parse.well_formed()));

    const BindRequest bind = parse_bind(kBind, true);
    CHECK(bind.portal == "p1");
    CHECK(bind.statement == "s1");
    CHECK(bind.parameter_count == 3);
    CHECK((bind.names_complete && bind.well_formed()));

    CHECK(parse_describe("Ss1\0"_bytes, true).kind == 'S');
    CHECK(parse_close("Pc1\0"_bytes, true).name == "c1");
    CHECK(parse_execute("p1\0\0\0\1\0"_bytes, true).row_max == 256);
    CHECK(parse_execute("p1\0\0\0\1\0"_bytes, true).portal == "p1");
}

TEST_CASE("request: every cut of a message is truncated, every short message is faulty") {
    check_shape(parse_query, "select 1\0"_bytes);
    check_shape(parse_parse, "s1\0select $1\0\0\2\0\0\0\x17\0\0\0\x19"_bytes);
    check_shape(parse_bind, kBind);
    check_shape(parse_describe, "Sname\0"_bytes);
    check_shape(parse_close, "Pname\0"_bytes);
    check_shape(parse_execute, "portal\0\0\0\0\5"_bytes);
}

TEST_CASE("request: faults are those of PostgreSQL's pqformat.c") {
    CHECK(parse_query("select 1", true).fault == MessageFault::invalid_string);
    CHECK(parse_query("", true).fault == MessageFault::invalid_string);
    CHECK(parse_query("select 1\0x"_bytes, true).fault == MessageFault::invalid_format);
    CHECK(parse_describe("", true).fault == MessageFault::no_data);
    CHECK(parse_describe("Xa\0"_bytes, true).fault == MessageFault::invalid_subtype);
    CHECK(parse_describe("Xa\0b"_bytes, true).fault == MessageFault::invalid_format);
    CHECK(parse_execute("\0\0\0"_bytes, true).fault == MessageFault::insufficient_data);
    for (const auto fault : {MessageFault::no_data, MessageFault::invalid_string,
                             MessageFault::insufficient_data, MessageFault::invalid_format}) {
        CHECK(fault_message(fault).ends_with("message") != (fault == MessageFault::invalid_format));
    }
    CHECK(fault_message(MessageFault::none).empty());
}

TEST_CASE("request: the text of a query ends at its zero byte, whatever follows in the frame") {
    CHECK(parse_query("select 1\0; commit\0"_bytes, true).text == "select 1");
}

TEST_CASE("request: counts and lengths that lie are faults and read nothing") {
    // 65535 parameter types in a message of 30 bytes.
    CHECK(parse_parse("\0select 1\0\xff\xff\0\0\0\0\0\0\0\0"_bytes, true).fault ==
          MessageFault::insufficient_data);
    for (const std::string& size : {"\x7f\xff\xff\xf0"_bytes, "\xff\xff\xff\xfe"_bytes,
                                    "\x80\0\0\0"_bytes, "\0\0\0\6"_bytes}) {
        const BindRequest bind = parse_bind("\0\0\0\0\0\1"_bytes + size + "12345", true);
        CHECK(bind.fault == MessageFault::insufficient_data);
        CHECK(bind.names_complete);
    }
    CHECK(parse_bind("\0\0\xff\xff\0\0"_bytes, true).fault == MessageFault::insufficient_data);
    CHECK(parse_bind("\0\0\0\0\xff\xff"_bytes, true).fault == MessageFault::insufficient_data);
    // A negative length is a lie even where the rest of the message is not there.
    CHECK(parse_bind("\0\0\0\0\0\1\xff\xff\xff\xfe"_bytes, false).fault ==
          MessageFault::insufficient_data);
}

TEST_CASE("request: long names are whole when their message is, and cut when it is cut") {
    for (const std::size_t size : {63U, 64U, 5000U, 100000U}) {
        const std::string name(size, 'n');
        const std::string body = "\0"_bytes + name + "\0\0\0\0\0\0\0"_bytes;
        CHECK(parse_bind(body, true).statement == name);
        CHECK(parse_bind(body, true).well_formed());
        const BindRequest cut = parse_bind(std::string_view(body).substr(0, size), false);
        CHECK(cut.truncated);
        CHECK_FALSE(cut.names_complete);
        CHECK(cut.statement == name.substr(1));
    }
}

TEST_CASE("request: a truncated text is its beginning, with its name complete") {
    const std::string body = "s1\0select lo"_bytes;
    const ParseRequest request = parse_parse(body, false);
    CHECK(request.truncated);
    CHECK(request.name_complete);
    CHECK_FALSE(request.text_complete);
    CHECK(request.text == "select lo");
}

}  // namespace pgb

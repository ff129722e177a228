#include "protocol/startup.h"

#include <string>

#include "protocol/error_response.h"
#include "tests/support/catch.h"
#include "tests/unit/protocol/message_bytes.h"

namespace pgb {

namespace {

constexpr std::uint32_t kVersion30 = 3 << 16;

std::string packet(std::uint32_t code, std::string_view body) {
    std::string out;
    MessageWriter(out).u32(static_cast<std::uint32_t>(8 + body.size())).u32(code).bytes(body);
    return out;
}

std::string word(std::uint32_t value) {
    std::string out;
    MessageWriter(out).u32(value);
    return out;
}

const std::string kLogin = packet(kVersion30 | 2,
                                  "user\0bob\0database\0shop\0_pq_.x\0"
                                  "1\0user\0eve\0\0"_bytes);

std::string message_of(const StartupPacket& found) {
    std::string out;
    append_startup_fault(out, found);
    if (out.empty()) return {};
    const std::string body = out.substr(5);
    const std::optional<ErrorFields> fields = parse_error(body);
    REQUIRE(fields);
    CHECK(is_fatal(*fields));
    return std::string(fields->sqlstate) + " " + std::string(fields->message);
}

}  // namespace

TEST_CASE("startup: every beginning of a packet asks for more and the whole is read") {
    for (const std::string& bytes : {kLogin, packet(80877103, ""), packet(80877104, ""),
                                     packet(80877102, "\0\0\0\7abcd"_bytes)}) {
        for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
            CHECK(parse_startup(std::string_view(bytes).substr(0, cut)).kind ==
                  StartupKind::need_more);
        }
        const std::string input = bytes + "rest";
        const StartupPacket found = parse_startup(input);
        CHECK(found.kind != StartupKind::need_more);
        CHECK(found.kind != StartupKind::malformed);
        CHECK(found.consumed == bytes.size());
    }
}

TEST_CASE("startup: parameters keep their order, protocol options stand apart") {
    const StartupPacket found = parse_startup(kLogin);
    REQUIRE(found.kind == StartupKind::startup);
    CHECK(found.major == 3);
    CHECK(found.minor == 2);
    REQUIRE(found.parameters.size() == 3);
    CHECK(found.parameters[1] == StartupParameter("database", "shop"));
    CHECK(found.parameter("user") == "eve");
    CHECK(found.parameter("nothing").empty());
    REQUIRE(found.protocol_options.size() == 1);
    CHECK(found.protocol_options[0] == "_pq_.x");
}

TEST_CASE("startup: impossible lengths are refused at once and without an answer") {
    for (const std::uint32_t length : {0U, 3U, 4U, 7U, 0xffffffffU, 10005U, 0x7fffffffU,
                                       0x80000000U, 10U * 1024 * 1024, 0x16030102U}) {
        const StartupPacket found = parse_startup(word(length));
        CHECK(found.kind == StartupKind::malformed);
        CHECK(found.fault == StartupFault::length);
        CHECK(message_of(found).empty());
    }
    CHECK(parse_startup(word(8)).kind == StartupKind::need_more);
    CHECK(parse_startup(word(10004)).kind == StartupKind::need_more);
}

TEST_CASE("startup: the largest packet is read") {
    const std::string value(10004 - 8 - 7, 'u');
    const std::string bytes = packet(kVersion30, "user\0"_bytes + value + "\0\0"_bytes);
    REQUIRE(bytes.size() == 10004);
    CHECK(parse_startup(bytes).parameter("user") == value);
}

TEST_CASE("startup: a cancel key has 4 to 256 bytes and other lengths are not waited for") {
    for (const std::size_t size : {4U, 32U, 200U, 256U}) {
        const std::string key(size, 'k');
        std::string bytes;
        append_cancel_request(bytes, -7, key);
        const StartupPacket found = parse_startup(bytes);
        REQUIRE(found.kind == StartupKind::cancel_request);
        CHECK(found.cancel.pid == -7);
        CHECK(found.cancel.key == key);
        CHECK(found.consumed == bytes.size());
    }
    for (const std::uint32_t length : {8U, 9U, 11U, 12U, 15U, 269U, 10004U}) {
        const StartupPacket found = parse_startup(word(length) + word(80877102));
        CHECK(found.kind == StartupKind::malformed);
        CHECK(found.fault == StartupFault::length);
    }
}

TEST_CASE("startup: requests for encryption are recognised, in any length as PostgreSQL does") {
    CHECK(parse_startup(packet(80877103, "")).kind == StartupKind::ssl_request);
    CHECK(parse_startup(packet(80877104, "")).kind == StartupKind::gssenc_request);
    CHECK(parse_startup(packet(80877103, "junk")).consumed == 12);
}

TEST_CASE("startup: another major version is refused with PostgreSQL's words") {
    CHECK(message_of(parse_startup(packet(1234 << 16 | 5678, ""))).empty());  // a short cancel
    CHECK(message_of(parse_startup(packet(4 << 16 | 9, ""))) ==
          "0A000 unsupported frontend protocol 4.9: server supports 3.0 to 3.2");
    std::string to_protocol_2;
    append_startup_fault(to_protocol_2, parse_startup(packet(2 << 16, "user\0x\0\0"_bytes)));
    CHECK(to_protocol_2 ==
          "EFATAL:  unsupported frontend protocol 2.0: server supports 3.0 to 3.2\n\0"_bytes);
    std::string second_ssl_request;
    append_unsupported_protocol(second_ssl_request, 1234, 5679);
    CHECK(second_ssl_request.find("unsupported frontend protocol 1234.5679") != std::string::npos);
}

TEST_CASE("startup: the terminator must be the last byte") {
    const std::string complaint =
        "08P01 invalid startup packet layout: expected terminator as last byte";
    for (const std::string& body :
         {""_bytes, "user\0bob\0"_bytes, "user\0bob"_bytes, "user\0"_bytes, "user"_bytes,
          "user\0bob\0\0\0"_bytes, "user\0bob\0\0x"_bytes, "user\0bob\0db\0"_bytes}) {
        const StartupPacket found = parse_startup(packet(kVersion30, body));
        CHECK(found.kind == StartupKind::malformed);
        CHECK(message_of(found) == complaint);
    }
    CHECK(parse_startup(packet(kVersion30, "\0"_bytes)).kind == StartupKind::startup);
    CHECK(parse_startup(packet(kVersion30, "user\0\0\0"_bytes)).kind == StartupKind::startup);
    // Measured: PostgreSQL lets one byte of another value pass in the terminator's place.
    CHECK(parse_startup(packet(kVersion30, "user\0bob\0x"_bytes)).kind == StartupKind::startup);
}

TEST_CASE("startup: the number of parameters is bounded") {
    const auto with = [](std::size_t count) {
        std::string body;
        for (std::size_t i = 0; i < count; ++i)
            body += i % 2 == 0 ? "a\0b\0"_bytes : "_pq_.x\0\0"_bytes;
        return packet(kVersion30, body + "\0"_bytes);
    };
    CHECK(parse_startup(with(kStartupParameterMax)).kind == StartupKind::startup);
    const std::string too_many = with(kStartupParameterMax + 1);
    CHECK(parse_startup(too_many).fault == StartupFault::too_many_parameters);
    CHECK(message_of(parse_startup(too_many)).starts_with("08P01 "));
}

TEST_CASE("startup: names and values of any bytes pass unchanged") {
    std::string name;
    for (int byte = 1; byte < 256; ++byte) name += static_cast<char>(byte);
    const std::string bytes = packet(kVersion30, "user\0"_bytes + name + "\0\0"_bytes);
    CHECK(parse_startup(bytes).parameter("user") == name);
}

TEST_CASE("startup: versions are negotiated as PostgreSQL 18 does") {
    CHECK(negotiated_minor(0) == 0);
    CHECK(negotiated_minor(1) == 1);
    CHECK(negotiated_minor(2) == 2);
    CHECK(negotiated_minor(9999) == 2);
    const auto needs = [](std::uint32_t minor, const std::string& body) {
        return needs_negotiation(parse_startup(packet(kVersion30 | minor, body)));
    };
    CHECK_FALSE(needs(0, "\0"_bytes));
    CHECK_FALSE(needs(1, "\0"_bytes));
    CHECK_FALSE(needs(2, "\0"_bytes));
    CHECK(needs(3, "\0"_bytes));
    CHECK(needs(9999, "_pq_.test_protocol_negotiation\0\0\0"_bytes));
    CHECK(needs(0, "_pq_.foo\0\0\0"_bytes));
}

TEST_CASE("startup: replies have the bytes of the manual's formats") {
    std::string out;
    const std::string_view names[] = {"_pq_.a", "_pq_.b"};
    append_negotiate_protocol_version(out, 2, names);
    CHECK(out == message('v', "\0\3\0\2\0\0\0\2_pq_.a\0_pq_.b\0"_bytes));
    out.clear();
    append_authentication_ok(out);
    append_backend_key_data(out, 258, "k\0ey"_bytes);
    append_parameter_status(out, "TimeZone", "UTC");
    CHECK(out == "R\0\0\0\x08\0\0\0\0"_bytes + message('K', "\0\0\1\2k\0ey"_bytes) +
                     message('S', "TimeZone\0UTC\0"_bytes));
}

}  // namespace pgb

#include <string>
#include <string_view>

#include "protocol/error_response.h"
#include "protocol/writer.h"
#include "proxy/session/login.h"
#include "tests/support/catch.h"
#include "tests/unit/protocol/message_bytes.h"

namespace pgb {

namespace {

std::string packet(std::uint32_t code, std::string_view body) {
    std::string out;
    MessageWriter(out).u32(static_cast<std::uint32_t>(8 + body.size())).u32(code).bytes(body);
    return out;
}

const std::string kSsl = packet(80877103, "");
const std::string kGssenc = packet(80877104, "");
const std::string kBob = packet(3 << 16, "user\0bob\0\0"_bytes);
const std::string kHello = "\x16\x03\x01\x02\x00\x01\x00"_bytes;

/// A connection to a door with TLS.
struct Guest {
    Login login{true};
    std::string input;
    std::string reply;

    LoginStep read(std::string_view bytes) {
        input += bytes;
        std::size_t consumed = 0;
        const LoginStep step = login.on_bytes(input, consumed, reply);
        input.erase(0, consumed);
        return step;
    }
    /// "S CODE message", with the first letter that was answered.
    [[nodiscard]] std::string refusal() const {
        const auto fields = parse_error(std::string_view(reply).substr(6));
        REQUIRE(fields);
        return reply.substr(0, 1) + ' ' + std::string(fields->sqlstate) + ' ' +
               std::string(fields->message);
    }
};

}  // namespace

TEST_CASE(
    "login with TLS: a request is granted, also behind one for GSSAPI, and a plain login goes") {
    Guest guest;
    CHECK(guest.read(kSsl) == LoginStep::tls);
    CHECK(guest.reply == "S");
    CHECK(guest.input.empty());
    CHECK(guest.login.may_go_on(false));
    CHECK(guest.read(kBob) == LoginStep::startup);

    Guest careful;
    CHECK(careful.read(kGssenc) == LoginStep::need_more);
    CHECK(careful.read(kSsl) == LoginStep::tls);
    CHECK(careful.reply == "NS");

    Guest plain;
    CHECK(plain.read(kBob) == LoginStep::startup);
    CHECK(plain.reply.empty());
}

TEST_CASE("login with TLS: bytes stuffed behind a request are never read") {
    for (const std::string& stuffed : {std::string("x"), kBob, kHello}) {
        Guest guest;
        CHECK(guest.read(kSsl + stuffed) == LoginStep::refused);
        CHECK(guest.refusal() == "S 08P01 received unencrypted data after SSL request");
        CHECK(guest.login.request().user.empty());
    }
    Guest guest;
    CHECK(guest.read(kGssenc + kSsl) == LoginStep::refused);
    CHECK(guest.refusal() == "N 08P01 received unencrypted data after GSSAPI encryption request");
}

TEST_CASE("login with TLS: inside it no encryption is asked for once more") {
    for (const std::string& request : {kSsl, kGssenc}) {
        Guest guest;
        REQUIRE(guest.read(kSsl) == LoginStep::tls);
        CHECK(guest.read(request) == LoginStep::refused);
        CHECK(guest.refusal().starts_with("S 0A000 unsupported frontend protocol 1234."));
    }
}

TEST_CASE("login with TLS: a client may begin with it, if it names the protocol") {
    Guest guest;
    CHECK(guest.read(kHello) == LoginStep::tls);
    CHECK(guest.input == kHello);
    CHECK(guest.reply.empty());
    CHECK_FALSE(guest.login.may_go_on(false));
    CHECK(guest.login.may_go_on(true));
    guest.input.clear();
    // As PostgreSQL 17: what it has already is not granted again.
    CHECK(guest.read(kSsl) == LoginStep::need_more);
    CHECK(guest.reply == "N");
    CHECK(guest.read(kBob) == LoginStep::startup);
}

TEST_CASE("login with TLS: only the first byte of a connection begins it unasked") {
    Guest guest;
    CHECK(guest.read(kGssenc) == LoginStep::need_more);
    CHECK(guest.read(kHello) == LoginStep::refused);
    Login deaf;
    std::size_t consumed = 0;
    std::string reply;
    CHECK(deaf.on_bytes(kHello, consumed, reply) == LoginStep::refused);
}

}  // namespace pgb

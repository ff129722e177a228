#include "proxy/session/authentication.h"

#include <string>
#include <string_view>

#include "protocol/base64.h"
#include "protocol/error_response.h"
#include "protocol/writer.h"
#include "tests/support/catch.h"
#include "tests/support/scram_client.h"

namespace pgb {

namespace {

constexpr std::string_view kFirst = "n,,n=,r=rOprNGfwEbeRWgbNEkqO";
// 18 bytes, of which the server's part of the nonce is made.
constexpr std::string_view kNonce = "eighteen bytes....";

std::string message(std::string_view body, char type = 'p') {
    std::string out;
    MessageWriter(out).begin(type).bytes(body).end();
    return out;
}

std::string initial(std::string_view mechanism, std::string_view first) {
    std::string body;
    MessageWriter(body).cstring(mechanism).u32(static_cast<std::uint32_t>(first.size()));
    return message(body.append(first));
}

ScramVerifier verifier() { return derive_scram_verifier("secret", "salt", 2); }

/// A connection that keeps what was not consumed, and gives a verifier when it is asked for one.
struct Exchange {
    explicit Exchange(AuthenticationKind kind, std::string end_point = "", bool doomed = false)
        : machine(kind, "u\"x", std::move(end_point), kNonce), is_doomed(doomed) {
        machine.begin(reply);
    }

    AuthenticationStep read(std::string_view bytes) {
        input += bytes;
        for (;;) {
            std::size_t consumed = 0;
            step = machine.on_bytes(input, consumed, reply);
            REQUIRE(consumed <= input.size());
            input.erase(0, consumed);
            if (step == AuthenticationStep::verifier) {
                machine.on_verifier(verifier(), is_doomed, reply);
                step = AuthenticationStep::need_more;
            }
            if (step != AuthenticationStep::need_more || consumed == 0) return step;
        }
    }

    /// The body of the latest message.
    [[nodiscard]] std::string_view last() const {
        std::string_view rest = reply;
        for (;;) {
            const auto length = static_cast<std::size_t>(
                (static_cast<unsigned char>(rest[3]) << 8) + static_cast<unsigned char>(rest[4]));
            if (rest.size() <= 1 + length) return rest.substr(5);
            rest.remove_prefix(1 + length);
        }
    }
    /// `sqlstate message: detail` of the error that it ended with.
    [[nodiscard]] std::string error() const {
        const auto fields = parse_error(last());
        if (!fields || fields->severity != "FATAL") return "none";
        std::string text = std::string(fields->sqlstate) + ' ' + std::string(fields->message);
        return fields->detail.empty() ? text : text + ": " + std::string(fields->detail);
    }

    Authentication machine;
    bool is_doomed;
    std::string input;
    std::string reply;
    AuthenticationStep step = AuthenticationStep::need_more;
};

// What a client that knows the password answers.
std::string final_message(std::string_view server_first, std::string_view password,
                          std::string_view first = kFirst.substr(3)) {
    const std::string nonce(server_first.substr(2, server_first.find(',') - 2));
    const std::string without_proof = "c=biws,r=" + nonce;
    const std::string auth_message =
        std::string(first) + ',' + std::string(server_first) + ',' + without_proof;
    return message(without_proof + ",p=" + prove_scram(password, "salt", 2, auth_message));
}

std::string log_in(Exchange& exchange, std::string_view password) {
    exchange.read(initial("SCRAM-SHA-256", kFirst));
    const std::string server_first(exchange.last().substr(4));
    return final_message(server_first, password);
}

const std::string kRefused = "28P01 password authentication failed for user \"u\"x\"";

}  // namespace

TEST_CASE("authentication: SCRAM lets in who knows the password, and nobody else") {
    Exchange right(AuthenticationKind::scram);
    CHECK(right.last() == std::string_view("\0\0\0\x0aSCRAM-SHA-256\0\0", 19));
    CHECK(right.read(log_in(right, "secret")) == AuthenticationStep::accepted);
    CHECK(right.last().substr(0, 6) == std::string_view("\0\0\0\x0cv=", 6));

    Exchange wrong(AuthenticationKind::scram);
    CHECK(wrong.read(log_in(wrong, "secret ")) == AuthenticationStep::refused);
    CHECK(wrong.error() == kRefused);

    Exchange doomed(AuthenticationKind::scram, "", true);
    CHECK(doomed.read(log_in(doomed, "secret")) == AuthenticationStep::refused);
    CHECK(doomed.reply.substr(doomed.reply.size() - wrong.last().size()) == wrong.last());
}

TEST_CASE("authentication: a login comes out the same under every cut of its bytes") {
    Exchange whole(AuthenticationKind::scram);
    const std::string first = initial("SCRAM-SHA-256", kFirst);
    const std::string second = log_in(whole, "secret");
    REQUIRE(whole.read(second) == AuthenticationStep::accepted);
    for (std::size_t cut = 0; cut <= first.size() + second.size(); ++cut) {
        CAPTURE(cut);
        Exchange parts(AuthenticationKind::scram);
        const std::string all = first + second + "behind";
        parts.read(std::string_view(all).substr(0, cut));
        if (cut < first.size() + second.size()) parts.read(std::string_view(all).substr(cut));
        CHECK(parts.step == AuthenticationStep::accepted);
        CHECK(parts.reply == whole.reply);
        CHECK(parts.input.size() + std::min(cut, all.size()) >= std::string_view("behind").size());
    }
}

TEST_CASE("authentication: without a first response the client is asked for it") {
    Exchange exchange(AuthenticationKind::scram);
    std::string body;
    MessageWriter(body).cstring("SCRAM-SHA-256").i32(-1);
    CHECK(exchange.read(message(body)) == AuthenticationStep::need_more);
    CHECK(exchange.last() == std::string_view("\0\0\0\x0b", 4));
    CHECK(exchange.read(message(kFirst)) == AuthenticationStep::need_more);
    const std::string server_first(exchange.last().substr(4));
    CHECK(exchange.read(final_message(server_first, "secret")) == AuthenticationStep::accepted);
}

TEST_CASE("authentication: what PostgreSQL refuses of SASL is refused in its words") {
    const auto error = [](std::string_view bytes) {
        Exchange exchange(AuthenticationKind::scram);
        CHECK(exchange.read(bytes) == AuthenticationStep::refused);
        return exchange.error();
    };
    const std::string_view name("SCRAM-SHA-256\0", 14);
    const auto initial_of = [&](std::string_view rest) {
        return message(std::string(name).append(rest));
    };
    CHECK(error("Q") == "08P01 expected SASL response, got message type 81");
    CHECK(error(std::string_view("\0", 1)) == "08P01 expected SASL response, got message type 0");
    CHECK(error(std::string_view("p\0\0\0\3", 5)) == kRefused);
    CHECK(error(std::string_view("p\0\0\4\1", 5)) == kRefused);
    CHECK(error(std::string_view("p\x7f\xff\xff\xff", 5)) == kRefused);
    CHECK(error(std::string_view("p\xff\xff\xff\xff", 5)) == kRefused);
    CHECK(error(message("")) == "08P01 invalid string in message");
    CHECK(error(message("SCRAM-SHA-256")) == "08P01 invalid string in message");
    CHECK(error(initial("SCRAM-SHA-256-PLUS", kFirst)) ==
          "08P01 client selected an invalid SASL authentication mechanism");
    CHECK(error(initial_of("")) == "08P01 insufficient data left in message");
    CHECK(error(initial_of(std::string_view("\0\0\0\2x", 5))) ==
          "08P01 insufficient data left in message");
    CHECK(error(initial_of(std::string_view("\xff\xff\xff\xfex", 5))) ==
          "08P01 insufficient data left in message");
    CHECK(error(initial_of(std::string_view("\x7f\xff\xff\xffx", 5))) ==
          "08P01 insufficient data left in message");
    CHECK(error(initial_of(std::string_view("\0\0\0\1xy", 6))) == "08P01 invalid message format");
    CHECK(error(initial_of(std::string_view("\xff\xff\xff\xffx", 5))) ==
          "08P01 invalid message format");
    CHECK(error(initial("SCRAM-SHA-256", "")) ==
          "08P01 malformed SCRAM message: The message is empty.");
    CHECK(error(initial("SCRAM-SHA-256", "n,a=x,n=,r=y")) ==
          "0A000 client uses authorization identity, but it is not supported");
}

TEST_CASE(
    "authentication: over TLS the bound mechanism is offered first, and a downgrade refused") {
    Exchange exchange(AuthenticationKind::scram, "digest");
    CHECK(exchange.last() ==
          std::string_view("\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0", 38));
    CHECK(exchange.read(initial("SCRAM-SHA-256", "y,,n=,r=a")) == AuthenticationStep::refused);
    CHECK(exchange.error().starts_with("28000 SCRAM channel binding negotiation error"));
    Exchange bound(AuthenticationKind::scram, "digest");
    bound.read(initial("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=a"));
    const std::string server_first(bound.last().substr(4));
    const std::string nonce = server_first.substr(2, server_first.find(',') - 2);
    const std::string without_proof =
        "c=" + encode_base64("p=tls-server-end-point,,digest") + ",r=" + nonce;
    const std::string proof =
        prove_scram("secret", "salt", 2, "n=,r=a," + server_first + ',' + without_proof);
    CHECK(bound.read(message(without_proof + ",p=" + proof)) == AuthenticationStep::accepted);
}

TEST_CASE("authentication: a password of any length that PostgreSQL takes is to be proved") {
    for (const std::size_t size : {1U, 996U, 1024U, 60000U, 65530U}) {
        CAPTURE(size);
        Exchange exchange(AuthenticationKind::password);
        CHECK(exchange.last() == std::string_view("\0\0\0\3", 4));
        const std::string password(size, 'x');
        const std::string bytes = message(password + '\0') + "Q";
        CHECK(exchange.read(std::string_view(bytes).substr(0, bytes.size() - 2)) ==
              AuthenticationStep::need_more);
        CHECK(exchange.read(std::string_view(bytes).substr(bytes.size() - 2)) ==
              AuthenticationStep::prove);
        CHECK(exchange.machine.password().text() == password);
        CHECK(exchange.input == "Q");
    }
}

TEST_CASE("authentication: what PostgreSQL refuses of a password is refused as it does") {
    const auto error = [](std::string_view bytes) {
        Exchange exchange(AuthenticationKind::password);
        exchange.reply.clear();
        CHECK(exchange.read(bytes) == AuthenticationStep::refused);
        return exchange.reply.empty() ? "silence" : exchange.error();
    };
    CHECK(error("X") == "08P01 expected password response, got message type 88");
    CHECK(error(message(std::string_view("\0", 1))) == "28P01 empty password returned by client");
    CHECK(error(message("")) == "08P01 invalid password packet size");
    CHECK(error(message("x")) == "08P01 invalid password packet size");
    CHECK(error(message(std::string_view("x\0y\0", 4))) == "08P01 invalid password packet size");
    CHECK(error(std::string_view("p\0\0\0\3", 5)) == "silence");
    CHECK(error(std::string_view("p\0\1\0\0", 5)) == "silence");
    CHECK(error(std::string_view("p\xff\xff\xff\xff", 5)) == "silence");
}

}  // namespace pgb

#include "protocol/scram.h"

#include <string>
#include <string_view>

#include "protocol/base64.h"
#include "protocol/sasl_prep.h"
#include "tests/support/catch.h"

using namespace pgb;

namespace {

constexpr std::string_view kClientNonce = "rOprNGfwEbeRWgbNEkqO";
// The server's part of the nonce of RFC 7677, section 3.
constexpr std::string_view kServerNonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
constexpr std::string_view kProof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

ScramVerifier pencil() {
    return derive_scram_verifier("pencil", *decode_base64("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096);
}

std::string final_message(std::string_view binding, std::string_view proof) {
    return "c=" + std::string(binding) + ",r=" + std::string(kClientNonce) +
           std::string(kServerNonce) + ",p=" + std::string(proof);
}

std::string detail_of(const std::optional<ScramFault>& fault) {
    return fault ? fault->message + ": " + fault->detail : "";
}

std::string first_fault(std::string_view message, const ScramBinding& binding = {}) {
    ScramExchange exchange(binding);
    return detail_of(exchange.read_first(message));
}

std::string final_fault(std::string_view message) {
    ScramExchange exchange({});
    REQUIRE_FALSE(exchange.read_first("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"));
    (void)exchange.first_reply(pencil(), kServerNonce);
    return detail_of(exchange.read_final(message));
}

}  // namespace

TEST_CASE("scram: the exchange of RFC 7677 is accepted, and answered as there") {
    ScramExchange exchange({});
    REQUIRE_FALSE(exchange.read_first("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"));
    CHECK(exchange.first_reply(pencil(), kServerNonce) ==
          "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
    REQUIRE_FALSE(exchange.read_final(final_message("biws", kProof)));
    CHECK(exchange.proves(pencil()));
    CHECK(exchange.final_reply(pencil()) == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

TEST_CASE("scram: a proof for another password, another salt or other messages proves nothing") {
    ScramExchange exchange({});
    REQUIRE_FALSE(exchange.read_first("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"));
    (void)exchange.first_reply(pencil(), kServerNonce);
    REQUIRE_FALSE(exchange.read_final(final_message("biws", kProof)));
    CHECK_FALSE(exchange.proves(derive_scram_verifier("pencils", pencil().salt, 4096)));
    CHECK_FALSE(exchange.proves(derive_scram_verifier("pencil", "another salt", 4096)));
    CHECK_FALSE(exchange.proves(mock_scram_verifier("secret", "user")));
    ScramExchange other({});
    REQUIRE_FALSE(other.read_first("n,,n=other,r=rOprNGfwEbeRWgbNEkqO"));
    (void)other.first_reply(pencil(), kServerNonce);
    REQUIRE_FALSE(other.read_final(final_message("biws", kProof)));
    CHECK_FALSE(other.proves(pencil()));
}

TEST_CASE("scram: what PostgreSQL refuses in a first message is refused in its words") {
    const std::string m = "malformed SCRAM message: ";
    CHECK(first_fault("") == m + "The message is empty.");
    CHECK(first_fault(std::string_view("n,,\0", 4)) ==
          m + "Message length does not match input length.");
    CHECK(first_fault("x,,n=,r=a") == m + "Unexpected channel-binding flag \"'x'\".");
    CHECK(first_fault("\x01") == m + "Unexpected channel-binding flag \"0x01\".");
    CHECK(first_fault("n") == m + "Comma expected, but found character \"0x00\".");
    CHECK(first_fault("nx") == m + "Comma expected, but found character \"'x'\".");
    CHECK(first_fault("n,a=x,n=,r=a") ==
          "client uses authorization identity, but it is not supported: ");
    CHECK(first_fault("n,b,n=,r=a") == m + "Unexpected attribute \"'b'\" in client-first-message.");
    CHECK(first_fault("n,,m=x,n=,r=a") == "client requires an unsupported SCRAM extension: ");
    CHECK(first_fault("n,,r=a") == m + "Expected attribute \"n\" but found \"'r'\".");
    CHECK(first_fault("n,,n") == m + "Expected character \"=\" for attribute \"n\".");
    CHECK(first_fault("n,,n=") == m + "Expected attribute \"r\" but found \"0x00\".");
    CHECK(first_fault("n,,n=,r=a b") == "non-printable characters in SCRAM nonce: ");
    CHECK(first_fault("n,,n=,r=a,1=x") ==
          m + "Attribute expected, but found invalid character \"'1'\".");
    CHECK(first_fault("n,,n=,r=a,x") == m + "Expected character \"=\" for attribute \"x\".");
    CHECK(first_fault("n,,n=,r=,x=1,y=2").empty());
    CHECK(first_fault("p=tls-server-end-point,,n=,r=a") ==
          m + "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message "
              "includes channel binding data.");
}

TEST_CASE("scram: what PostgreSQL refuses in a final message is refused in its words") {
    const std::string m = "malformed SCRAM message: ";
    const std::string nonce = std::string(kClientNonce) + std::string(kServerNonce);
    CHECK(final_fault("") == m + "The message is empty.");
    CHECK(final_fault("r=x") == m + "Expected attribute \"c\" but found \"'r'\".");
    CHECK(final_fault("c=eSws,r=" + nonce + ",p=x") ==
          "unexpected SCRAM channel-binding attribute in client-final-message: ");
    CHECK(final_fault("c=biws,r=" + nonce) == m + "Attribute expected, but found end of string.");
    CHECK(final_fault("c=biws,r=" + nonce + ",p=AAAA") ==
          m + "Malformed proof in client-final-message.");
    CHECK(final_fault("c=biws,r=" + nonce + ",p=not base64") ==
          m + "Malformed proof in client-final-message.");
    CHECK(final_fault(final_message("biws", kProof) + ",x=1") ==
          m + "Garbage found at the end of client-final-message.");
    const std::string wrong = "invalid SCRAM response: Nonce does not match.";
    CHECK(final_fault("c=biws,r=" + nonce + "x,p=" + std::string(kProof)) == wrong);
    CHECK(final_fault("c=biws,r=" + std::string(kClientNonce) + ",p=" + std::string(kProof)) ==
          wrong);
    CHECK(final_fault("c=biws,r=" + nonce + ",x=ignored,p=" + std::string(kProof)).empty());
}

TEST_CASE("scram: bound to a connection, the exchange takes no other binding and no downgrade") {
    const ScramBinding tls{"certificate's digest", false};
    const ScramBinding plus{"certificate's digest", true};
    CHECK(first_fault("n,,n=,r=a", tls).empty());
    CHECK(first_fault("y,,n=,r=a", tls).starts_with("SCRAM channel binding negotiation error: "));
    CHECK(first_fault("y,,n=,r=a").empty());
    CHECK(first_fault("n,,n=,r=a", plus).find("does not include channel binding data") !=
          std::string::npos);
    CHECK(first_fault("p=tls-unique,,n=,r=a", plus) ==
          "unsupported SCRAM channel-binding type \"tls-unique\": ");
    for (const bool is_right : {true, false}) {
        ScramExchange exchange(plus);
        REQUIRE_FALSE(exchange.read_first("p=tls-server-end-point,,n=,r=ab"));
        (void)exchange.first_reply(pencil(), "cd");
        const std::string header = std::string("p=tls-server-end-point,,") +
                                   (is_right ? "certificate's digest" : "another's digest");
        const auto fault =
            exchange.read_final("c=" + encode_base64(header) + ",r=abcd,p=" + std::string(kProof));
        CHECK(detail_of(fault) == (is_right ? "" : "SCRAM channel binding check failed: "));
    }
}

TEST_CASE("scram: verifiers that PostgreSQL made are those that are derived here") {
    // select rolpassword from pg_authid of PostgreSQL 15, after: create role x password '...'
    struct Made {
        std::string_view password;
        std::string_view verifier;
    };
    const std::string long_one(1024, 'x');
    const Made made[] = {
        {"pencil",
         "SCRAM-SHA-256$4096:g+jOFmF1PO0/"
         "oOinTJGLKQ==$DxgxF5N34tYW9kP92kq7fTiWoxouaQjSF6vkiAhHGDU=:w++7qXRm6j9DE9/"
         "YLHWZJB6O55d0Dsq32fj1JDltVyk="},
        {long_one,
         "SCRAM-SHA-256$4096:1JRvHtDg/15VQQ7bNLQ5gg==$EL/z5sZqYIkGQjccBVYVJSYq+IdNEQ6p/"
         "Y1qIEqUGos=:8jMuUeVFEVw70ojMOKlqVcrRHDFEHAUZeWxun9e6oqw="},
        {"I\xc2\xad"
         "X",
         "SCRAM-SHA-256$4096:e6oiExYZXOn37mdrUMjitw==$bpzk1KYA646J+1K98FdS+7IsliKyXN/ZWVlu8O3b/"
         "xc=:r2Jd1k6wuN8TuT+P0CXNy+KFF4VSZcMgW3EYpckBjSU="},
        {"a\xc2\xa0"
         "b",
         "SCRAM-SHA-256$4096:zMWwQvqJ7t8qPt5lnpeD/"
         "g==$D+BiwIvm5tYsoOGYvMWu71ZUV6GxHyPx2JVC2QrnYwg=:Slubrx/cHnCGD1PpiNpbLlCIfPdcUPZiYPyqr/"
         "nSBx0="},
        {"e\xcc\x81",
         "SCRAM-SHA-256$4096:h4obfMxYHgQ4iWfQEIKLYQ==$QVONN3TGdWG4Yw7M0z9gYg62rBAqjdvi3xT4yML0Of4=:"
         "uarBf37G4X0Lq7Qs0S/7ntuNGYb0sd1iTjvcHqHn/+o="},
        {"\xe2\x85\xa8",
         "SCRAM-SHA-256$4096:gzS124DxhBIvUCI4BgsIEw==$8Tjf0Sk1Nj2/"
         "a3LIk+uti70euaLwlxm0T3Mtj3o7el4=:exfBLuwo9Mo3GpZ5mRzVQmyB/XdmvGREVlsT03hWsHc="},
        {"\xc2\xad",
         "SCRAM-SHA-256$4096:VJzsgLoN1+FsH0w1ZWA2NQ==$cYPMxv/iY/PJiuZ6Isq7RCIcX/"
         "gvw045iL0cppTfr9g=:CSsFrbA6l2XtnGv9zHYnKnTuGfYjKWW25R4EUy+isqM="},
        {"x\xc8\xa1",
         "SCRAM-SHA-256$4096:WyBmpWHvO1zL03lKT4d2Zg==$53ExNDSJschHgJNGOLJfCmYllWcL3RzZn7ERMvD8tEE=:"
         "p1NwzeHtKv4VMnuzexNBrgonmoy7tNZUhdLdB3IJTUs="},
        {"x\xe2\x80\x8e"
         "\xc2\xaa",
         "SCRAM-SHA-256$4096:PXK8SV4GSCcJmv9xIHBmkA==$/T/VE/"
         "GiafnHJACDORiFgyo+w0H0Dq2rn+u9nb3CzMQ=:QICAFzEEO33Q8CNe30/TYLpYepMglJJYVDQzZuqw85o="},
        {"\xd8\xa7"
         "1",
         "SCRAM-SHA-256$4096:L1EE/Ij0Npj6L4SIeQPu8w==$/WJoqAQCVP87rlZqe/"
         "VIn59hByLma7r7r21v0bTeC0g=:rR3uPd462SnTH/50PQIH1iWF/JA+xDAMADSZjB6SOAE="},
        {"\xd8\xa7"
         "\xd8\xa8",
         "SCRAM-SHA-256$4096:QpSD8qbwpkZhaDr0EBKEfw==$fPGik1/w/"
         "8blLpe1SEa1w6r4QzOybJ34xpolLRDAbWM=:37ha09QkOACk81tFba+vtbY6ePYgE473sbTS7VtQ/qw="},
        {"a \"quoted\" \\ ':@",
         "SCRAM-SHA-256$4096:SPdivJuRNd2ZRpxJSUuegQ==$U5SL1FTWQX56vQyasrO5G0iT6U2VP9Tgvm50GTq6o0w=:"
         "qS16VghATSZ3noDQrCPWbNdfAtBEZUSQsiF8N5yTi80="},
        {"\xf0\x9f\x98\x80",
         "SCRAM-SHA-256$4096:CcwlTIECcd3lLXbq2+e+5Q==$A0xp/"
         "8YBE9cWKtqyfw1eH9PeSiQbx+4Px4SX+zmBupU=:6Wqufu2VjIuKbWCP8HQfy3IeDSPk7GeIFF5t3oNHhLU="},
        {"\xe1\xba\x9b"
         "\xcc\xa3",
         "SCRAM-SHA-256$4096:dSX4ZLNziaZLooWx/"
         "7i7+A==$3rQcDYbTW3Z7G6vGuiaZ8MvWmoFXZe2BF8+MioDbZCo=:"
         "W0R1O5LjtFddyFYwQhxgVenc4OnWB9xt9RMYS+2y6QM="},
        {"\xef\xb7\xba",
         "SCRAM-SHA-256$4096:M8kx9dzX8N+n39Myp6fhbA==$BW+fpG986+2FhQKa5zvXr9FybK9G/iW0ksRELsqS/"
         "xM=:1cQGA1mM+lOjQaVoFMp5rNrX2A4gXgLppAtGyW5mlBU="},
    };
    for (const auto& [password, text] : made) {
        CAPTURE(password);
        const auto verifier = parse_scram_verifier(text);
        REQUIRE(verifier);
        CHECK(format_scram_verifier(*verifier) == text);
        CHECK(derive_scram_verifier(password, verifier->salt, verifier->iterations) == *verifier);
    }
}

TEST_CASE("scram: a text that is no verifier is not read as one") {
    const std::string good = format_scram_verifier(pencil());
    REQUIRE(parse_scram_verifier(good));
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        CAPTURE(cut);
        CHECK_FALSE(parse_scram_verifier(good.substr(0, cut)));
    }
    CHECK_FALSE(parse_scram_verifier(good + "="));
    CHECK_FALSE(parse_scram_verifier("SCRAM-SHA-256$-1:c2FsdA==$" + good.substr(44)));
    CHECK_FALSE(parse_scram_verifier("SCRAM-SHA-256$0:c2FsdA==$AAAA:AAAA"));
    CHECK(is_scram_verifier("SCRAM-SHA-256$x"));
    CHECK_FALSE(is_scram_verifier("SCRAM-SHA-256"));
}

TEST_CASE("scram: the verifier of an unknown user stays the same, and is another's of no one") {
    const ScramVerifier one = mock_scram_verifier("secret", "nobody");
    CHECK(one == mock_scram_verifier("secret", "nobody"));
    CHECK(one.salt.size() == kScramSaltSize);
    CHECK(one.iterations == kScramIterations);
    CHECK(one.salt != mock_scram_verifier("secret", "somebody").salt);
    CHECK(one.salt != mock_scram_verifier("another secret", "nobody").salt);
    CHECK(one.stored_key != one.server_key);
}

TEST_CASE("sasl_prep: passwords are prepared, and those that can't be are left alone") {
    CHECK(prepare_password("").empty());
    CHECK(prepare_password("plain\x01 text\x7f") == "plain\x01 text\x7f");
    CHECK(prepare_password("I\u00adX") == "IX");                  // a soft hyphen is nothing
    CHECK(prepare_password("a\u00a0b") == "a b");                 // a blank that does not break
    CHECK(prepare_password("e\u0301") == "\u00e9");               // put together
    CHECK(prepare_password("\u2168") == "IX");                    // a Roman numeral
    CHECK(prepare_password("\u00ad") == "\u00ad");                // nothing would be left
    CHECK(prepare_password("x\u0221") == "x\u0221");              // not in Unicode 3.2
    CHECK(prepare_password("x\u200e\u00aa") == "x\u200e\u00aa");  // not allowed
    CHECK(prepare_password("\u0627"
                           "1") ==
          "\u0627"
          "1");                                         // must end as it began
    CHECK(prepare_password("\xff\xfe") == "\xff\xfe");  // no UTF-8
    CHECK(prepare_password("\u00aa\xc3") == "\u00aa\xc3");
    CHECK(prepare_password("\ufdfa").size() == 33);
}

TEST_CASE("base64: every length comes back, and only what was written is read") {
    std::string bytes;
    for (int i = 0; i < 70; ++i) {
        CHECK(decode_base64(encode_base64(bytes)) == bytes);
        bytes += static_cast<char>(i * 37);
    }
    CHECK(encode_base64("f") == "Zg==");
    CHECK(encode_base64("foobar") == "Zm9vYmFy");
    for (const std::string_view bad :
         {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Z=g=", "Zm 9v", "Zm9v\n", "Zm\xff\xff"}) {
        CAPTURE(bad);
        CHECK_FALSE(decode_base64(bad));
    }
}

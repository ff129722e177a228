#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

/// What is said of one listener with this door and these keys of `auth`.
std::string complaints(std::string_view door, std::string_view auth) {
    return joined(
        complaint_lines(load(std::string(kSmallest) + "listen: [{name: a, " + std::string(door) +
                             ", auth: {" + std::string(auth) + "}}]\n")));
}

constexpr std::string_view kLoopback = "address: 127.0.0.1";
constexpr std::string_view kNetwork = "address: 10.0.0.1";
constexpr std::string_view kUnix = "unix_socket_dir: /tmp";
constexpr std::string_view kVouched =
    "address: 10.0.0.1, tls: {mode: require, cert: /c, key: /k, client_ca: /a}";

}  // namespace

TEST_CASE("authentication: each method is taken where it is safe and has what it needs") {
    CHECK(complaints(kLoopback, "method: trust").empty());
    CHECK(complaints(kUnix, "method: trust").empty());
    CHECK(complaints(kNetwork, "method: trust, allow_insecure: true").empty());
    CHECK(complaints(kNetwork, "method: scram-sha-256, users_file: /u").empty());
    CHECK(complaints(kLoopback, "method: passthrough, cache_lifetime: 1m").empty());
    CHECK(complaints(kUnix, "method: passthrough").empty());
    CHECK(complaints(kNetwork, "method: passthrough, allow_insecure: true").empty());
    CHECK(complaints(kUnix, "method: peer").empty());
    CHECK(complaints(kUnix, "method: peer, user_map: /m").empty());
}

TEST_CASE("authentication: what would let in the network, or nobody, is refused with its reason") {
    const auto says = [](const std::string& all, std::string_view part) {
        INFO(all);
        return all.find(part) != std::string::npos;
    };
    CHECK(says(complaints(kNetwork, "method: trust"), "PGB-CFG-037"));
    CHECK(says(complaints(kLoopback, "method: scram-sha-256"),
               "PGB-CFG-060: scram-sha-256 needs a `users_file`"));
    CHECK(says(complaints(kNetwork, "method: passthrough"),
               "PGB-CFG-061: with passthrough the passwords that come to "
               "`10.0.0.1` would travel in the clear"));
    CHECK(says(complaints(kLoopback, "method: peer"), "peer serves Unix sockets only"));
    CHECK(says(complaints(kLoopback, "method: cert"),
               "PGB-CFG-061: cert needs TLS with a `client_ca`"));
    CHECK(complaints(kVouched, "method: cert, user_map: /m").empty());
}

TEST_CASE("authentication: a method of the section `auth` is complained of where it stands") {
    const std::string all = joined(complaint_lines(
        load(std::string(kSmallest) + "auth:\n  method: scram-sha-256\nlisten: [{name: a, address: "
                                      "127.0.0.1}]\n")));
    CHECK(all == "f:3:11: PGB-CFG-060: scram-sha-256 needs a `users_file`\n");
}

}  // namespace pgb::config::test

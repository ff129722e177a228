#include "proxy/cli/healthcheck.h"

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

std::string url_of(const config::Admin& admin) {
    const Result<std::string> url = health_url(admin);
    return url ? url.value() : "error: " + url.error().message;
}

}  // namespace

TEST_CASE("healthcheck: the probes address comes first, and every address is found on loopback") {
    config::Admin admin;
    CHECK(url_of(admin) == "http://127.0.0.1:9432");
    admin.probes = config::Address{"0.0.0.0", 9433};
    CHECK(url_of(admin) == "http://127.0.0.1:9433");
    admin.probes = config::Address{"::", 9433};
    CHECK(url_of(admin) == "http://[::1]:9433");
    admin.probes = config::Address{"fd00::7", 9433};
    CHECK(url_of(admin) == "http://[fd00::7]:9433");
    admin.probes = config::Address{"localhost", 9433};
    admin.tls.cert = "cert.pem";
    CHECK(url_of(admin) == "https://localhost:9433");
}

TEST_CASE("healthcheck: an address that cannot be asked is a reason, not a guess") {
    config::Admin admin;
    admin.http.reset();
    CHECK(url_of(admin) == "error: the file has neither admin.probes nor admin.http");
    admin.http = config::Address{"127.0.0.1", 0};
    CHECK(url_of(admin).find("--url") != std::string::npos);
    admin.http->port = 9432;
    admin.tls.client_ca = "ca.pem";
    CHECK(url_of(admin).find("client_ca") != std::string::npos);
}

}  // namespace pgb::test

#include "proxy/admin/http_guard.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace pgb;

namespace {

const std::string kToken = "0123456789abcdef";

HttpRequest request(std::string host, std::string origin = "") {
    return {.method = "GET",
            .path = "/",
            .host = std::move(host),
            .host_count = 1,
            .origin = std::move(origin),
            .authorization = {},
            .content_type = {}};
}

HttpRequest change(std::string authorization, std::string content_type = "application/json") {
    HttpRequest made = request("localhost");
    made.method = "POST";
    made.authorization = std::move(authorization);
    made.content_type = std::move(content_type);
    return made;
}

int status(const std::optional<HttpAnswer>& answer) { return answer ? answer->status : 0; }

int stranger(const HttpRequest& request) { return status(refuse_stranger(request, "db.internal")); }

}  // namespace

TEST_CASE("http guard: loopback names, address literals and the configured name are ours") {
    for (const char* host :
         {"localhost", "LocalHost:9432", "a.localhost:1", "127.0.0.1:9432", "10.1.2.3", "[::1]:80",
          "[fe80::1]", "db.internal", "DB.Internal:9432"}) {
        INFO(host);
        CHECK(stranger(request(host)) == 0);
    }
}

TEST_CASE("http guard: a name of somebody else's is refused, as DNS rebinding has one") {
    for (const char* host : {"evil.example", "evil.example:9432", "localhost.evil.example",
                             "127.0.0.1.evil.example", "notlocalhost", "1.2.3", "1.2.3.4.5"}) {
        INFO(host);
        CHECK(stranger(request(host)) == 403);
    }
}

TEST_CASE("http guard: no Host, two, and malformed ones are bad requests") {
    HttpRequest two = request("localhost");
    two.host_count = 2;
    CHECK(stranger(two) == 400);
    HttpRequest none = request("");
    none.host_count = 0;
    CHECK(stranger(none) == 400);
    for (const char* host : {":80", "localhost:", "localhost:80x", "[::1", "[::1]x"}) {
        INFO(host);
        CHECK(stranger(request(host)) == 400);
    }
}

TEST_CASE("http guard: a request of another origin is refused, whatever it asks for") {
    CHECK(stranger(request("localhost:9432", "http://localhost:9432")) == 0);
    CHECK(stranger(request("localhost:9432", "https://LOCALHOST:9432")) == 0);
    for (const char* origin : {"null", "http://evil.example", "http://localhost", "localhost:9432",
                               "http://localhost:9432.evil.example", "file://localhost:9432"}) {
        INFO(origin);
        CHECK(stranger(request("localhost:9432", origin)) == 403);
    }
}

TEST_CASE("http guard: a change needs the token, and tells 401, 403 and 415 apart") {
    CHECK(status(refuse_change(change("Bearer " + kToken), kToken)) == 0);
    CHECK(status(refuse_change(change("bearer " + kToken), kToken)) == 0);
    CHECK(status(refuse_change(change("Bearer " + kToken), std::nullopt)) == 403);
    for (const std::string& authorization : std::vector<std::string>{
             "", kToken, "Basic " + kToken, "Bearer", "Bearer ", "Bearer " + kToken + "x",
             "Bearer " + kToken.substr(1), "Bearer  " + kToken}) {
        INFO(authorization);
        const auto refused = refuse_change(change(authorization), kToken);
        REQUIRE(status(refused) == 401);
        CHECK(refused->headers.at(0).first == "WWW-Authenticate");
        CHECK(refused->body.find(kToken) == std::string::npos);
    }
}

TEST_CASE("http guard: a form of another site cannot say that it is JSON") {
    const std::string bearer = "Bearer " + kToken;
    CHECK(status(refuse_change(change(bearer, "Application/JSON; charset=utf-8"), kToken)) == 0);
    for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded",
                             "multipart/form-data", "application/jsonp", "application/json x"}) {
        INFO(type);
        CHECK(status(refuse_change(change(bearer, type), kToken)) == 415);
    }
}

TEST_CASE("http guard: a token file has one token of a fair size and no bytes that no header has") {
    CHECK(token_of("  " + kToken + "\r\n") == kToken);
    CHECK_FALSE(token_of(kToken.substr(1)).has_value());
    CHECK_FALSE(token_of("").has_value());
    CHECK_FALSE(token_of("\n\n").has_value());
    CHECK_FALSE(token_of("0123456789 abcdef").has_value());
    CHECK_FALSE(token_of("0123456789\nabcdef0").has_value());
    CHECK_FALSE(token_of(std::string(kTokenBytesMax + 1, 'x')).has_value());
    CHECK(token_of(std::string(kTokenBytesMax, 'x')).has_value());
}

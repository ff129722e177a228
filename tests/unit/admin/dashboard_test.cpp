#include "proxy/admin/dashboard/assets.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

std::string header(const HttpAnswer& answer, std::string_view name) {
    for (const auto& [key, value] : answer.headers) {
        if (key == name) return value;
    }
    return {};
}

std::optional<HttpAnswer> ask(std::string path, std::string known = {}) {
    HttpRequest request;
    request.path = std::move(path);
    request.if_none_match = std::move(known);
    return answer_dashboard(request);
}

TEST_CASE("dashboard: the page lies in the binary and lets nothing else be loaded") {
    const auto page = ask("/");
    REQUIRE(page.has_value());
    CHECK(page->status == 200);
    CHECK(page->content_type == "text/html; charset=utf-8");
    CHECK(page->body.starts_with("<!doctype html>"));
    const std::string policy = header(*page, "Content-Security-Policy");
    CHECK(policy.starts_with("default-src 'none'"));
    CHECK(policy.find("unsafe") == std::string::npos);
    CHECK(header(*page, "X-Content-Type-Options") == "nosniff");
}

TEST_CASE("dashboard: all that the page asks for is there") {
    for (const Asset& asset : dashboard_assets()) {
        const auto answer = ask("/assets/" + std::string(asset.name));
        REQUIRE(answer.has_value());
        CHECK(answer->body.size() == asset.bytes.size());
        CHECK_FALSE(answer->body.empty());
    }
    CHECK(ask("/assets/main.js")->content_type == "text/javascript; charset=utf-8");
    CHECK(ask("/assets/page.css")->content_type == "text/css; charset=utf-8");
    CHECK(ask("/assets/icon.svg")->content_type == "image/svg+xml");
}

TEST_CASE("dashboard: a browser that has the file already is sent none") {
    const std::string known = header(*ask("/"), "ETag");
    REQUIRE(known.size() == 18);
    const auto again = ask("/", known);
    CHECK(again->status == 304);
    CHECK(again->body.empty());
    CHECK(ask("/", "\"another\"")->status == 200);
}

TEST_CASE("dashboard: other paths are none of its own") {
    CHECK_FALSE(ask("/assets/").has_value());
    CHECK_FALSE(ask("/assets/../main.js").has_value());
    CHECK_FALSE(ask("/index.html").has_value());
    CHECK_FALSE(ask("/metrics").has_value());
}

}  // namespace
}  // namespace pgb::test

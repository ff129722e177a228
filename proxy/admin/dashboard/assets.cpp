#include "proxy/admin/dashboard/assets.h"

#include <string>
#include <utility>

namespace pgb {

namespace {

constexpr std::string_view kFolder = "/assets/";
constexpr std::string_view kPage = "index.html";
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct Type {
    std::string_view ending;
    std::string_view name;
};
constexpr Type kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

std::string type_of(std::string_view name) {
    for (const Type& type : kTypes) {
        if (name.ends_with(type.ending)) return std::string(type.name);
    }
    return "text/plain; charset=utf-8";
}

HttpAnswer answer(const Asset& asset, std::string_view known) {
    HttpAnswer made{200, type_of(asset.name), {}};
    made.headers = {{"ETag", std::string(asset.etag)},
                    {"Cache-Control", "no-cache"},
                    {"Content-Security-Policy", std::string(kPolicy)},
                    {"X-Content-Type-Options", "nosniff"},
                    {"Referrer-Policy", "no-referrer"}};
    if (known == asset.etag) {
        made.status = 304;
    } else {
        made.body.assign(asset.bytes.begin(), asset.bytes.end());
    }
    return made;
}

}  // namespace

std::optional<HttpAnswer> answer_dashboard(const HttpRequest& request) {
    std::string_view name = request.path;
    if (name == "/") {
        name = kPage;
    } else if (name.starts_with(kFolder)) {
        name.remove_prefix(kFolder.size());
    } else {
        return std::nullopt;
    }
    for (const Asset& asset : dashboard_assets()) {
        if (asset.name == name) return answer(asset, request.if_none_match);
    }
    return std::nullopt;
}

}  // namespace pgb

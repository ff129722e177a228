#include "proxy/admin/http_guard.h"

#include <algorithm>

#include "protocol/sql_name.h"
#include "proxy/base/constant_time.h"

namespace pgb {

namespace {

constexpr std::string_view kBearer = "bearer ";
constexpr std::string_view kJson = "application/json";

HttpAnswer plain(int status, std::string body) {
    return {status, "text/plain; charset=utf-8", std::move(body)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Four numbers with dots, or what brackets enclose: no name that DNS is asked about looks like it.
bool is_address_literal(std::string_view name) {
    if (name.starts_with('[')) return true;
    const bool numeric =
        std::all_of(name.begin(), name.end(), [](char c) { return is_digit(c) || c == '.'; });
    return numeric && std::count(name.begin(), name.end(), '.') == 3;
}

bool is_ours(std::string_view name, std::string_view listens_on) {
    const std::string lower = lower_case(name);
    return is_address_literal(lower) || lower == "localhost" || lower.ends_with(".localhost") ||
           lower == lower_case(listens_on);
}

bool is_of_same_origin(std::string_view origin, std::string_view host) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (origin.starts_with(scheme))
            return lower_case(origin.substr(scheme.size())) == lower_case(host);
    }
    return false;
}

bool is_json(std::string_view content_type) {
    const std::string lower = lower_case(content_type.substr(0, content_type.find(';')));
    const std::size_t end = lower.find_last_not_of(" \t");
    return end != std::string::npos && std::string_view(lower).substr(0, end + 1) == kJson;
}

bool brings_token(std::string_view authorization, std::string_view token) {
    if (lower_case(authorization.substr(0, kBearer.size())) != kBearer) return false;
    return equal_in_constant_time(authorization.substr(kBearer.size()), token);
}

}  // namespace

std::optional<std::string_view> host_name(std::string_view host) {
    const bool bracketed = host.starts_with('[');
    const std::size_t end = bracketed ? host.find(']') : host.find(':');
    if (bracketed && end == std::string_view::npos) return std::nullopt;
    const std::string_view name = host.substr(0, bracketed ? end + 1 : end);
    const std::string_view port = host.substr(name.size());
    if (name.empty() || port == ":") return std::nullopt;
    if (!port.empty() && (port[0] != ':' || !std::all_of(port.begin() + 1, port.end(), is_digit))) {
        return std::nullopt;
    }
    return name;
}

std::optional<HttpAnswer> refuse_stranger(const HttpRequest& request, std::string_view listens_on) {
    const std::optional<std::string_view> name = host_name(request.host);
    if (request.host_count != 1 || !name) return plain(400, "one Host header is needed\n");
    if (!is_ours(*name, listens_on)) {
        return plain(403,
                     "this Host is not one of the proxy's; admin.probes answers to any name\n");
    }
    if (!request.origin.empty() && !is_of_same_origin(request.origin, request.host)) {
        return plain(403, "requests of other sites are refused\n");
    }
    return std::nullopt;
}

std::optional<HttpAnswer> refuse_change(const HttpRequest& request,
                                        const std::optional<std::string>& token) {
    if (!token) return plain(403, "changes need admin.token_file with a usable token\n");
    if (!brings_token(request.authorization, *token)) {
        HttpAnswer answer = plain(401, "changes need the bearer token of admin.token_file\n");
        answer.headers.emplace_back("WWW-Authenticate", "Bearer");
        return answer;
    }
    if (!is_json(request.content_type)) {
        return plain(415, "Content-Type: application/json is needed\n");
    }
    return std::nullopt;
}

HttpAnswer method_not_allowed(std::string_view allowed) {
    HttpAnswer answer = plain(405, "method not allowed\n");
    answer.headers.emplace_back("Allow", allowed);
    return answer;
}

std::optional<std::string> token_of(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return std::nullopt;
    const std::string_view token = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
    if (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax) return std::nullopt;
    const bool printable =
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
    return printable ? std::optional<std::string>(token) : std::nullopt;
}

}  // namespace pgb

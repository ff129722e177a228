// What is answered over HTTP, and to whom. Everything here but open_http() runs on the threads of the
// HTTP servers: it sees copies of the state and asks the loop.

#include "proxy/admin/http_guard.h"
#include "proxy/admin/views.h"
#include "proxy/app/server.h"
#include "proxy/io/clock.h"
#include "proxy/io/small_file.h"

namespace pgb {

namespace {

constexpr std::string_view kHoldersPath = "/api/v1/holders";
constexpr std::string_view kReloadPath = "/api/v1/reload";

bool is_reading(const HttpRequest& request) {
    return request.method == "GET" || request.method == "HEAD";
}

HttpAnswer no_answer(std::string_view why) {
    return {503, "text/plain; charset=utf-8", std::string(why) + '\n'};
}

}  // namespace

Result<bool> Server::open_http(const config::Address& address, bool is_for_people) {
    auto server = HttpServer::start(
        address.host, address.port,
        [this, is_for_people](const HttpRequest& request) {
            return is_for_people ? answer_people(request) : answer_probes(request);
        },
        admin_tls_ == nullptr ? nullptr : &admin_tls_->context);
    if (!server) return std::move(server.error());
    log_.info("serving_http",
              {{"address", address.host}, {"port", std::int64_t{server.value()->port()}}});
    http_.push_back(std::move(server.value()));
    return true;
}

HttpAnswer Server::answer_people(const HttpRequest& request) {
    if (auto refusal = refuse_stranger(request, admin_.http->host)) return std::move(*refusal);
    if (request.path == kReloadPath) return answer_reload_page(request);
    if (request.path == kHoldersPath && is_reading(request)) return answer_holders_page();
    return answer_probes(request);
}

// No secrets and no clients' words: who asks by which name is of no interest.
HttpAnswer Server::answer_probes(const HttpRequest& request) {
    if (!is_reading(request)) return method_not_allowed("GET, HEAD");
    const auto stamped = snapshots_->fresh();
    if (!stamped) return no_answer("starting");
    return answer_probe(request.path, stamped->snapshot, monotonic_now() - stamped->made);
}

HttpAnswer Server::answer_holders_page() {
    const auto list = holder_lists_->fresh();
    return list ? answer_holders(*list) : no_answer("no answer");
}

HttpAnswer Server::answer_reload_page(const HttpRequest& request) {
    if (request.method != "POST") return method_not_allowed("POST");
    std::optional<std::string> token;
    if (admin_.token_file) {
        // Anew each time: what is mounted rotates.
        if (const auto text = read_small_file(*admin_.token_file, 2 * kTokenBytesMax)) {
            token = token_of(*text);
        }
    }
    if (auto refusal = refuse_change(request, token)) return std::move(*refusal);
    // Within the time that its connection has.
    const std::optional<ReloadReport> report = reloads_->run(std::chrono::seconds(1));
    return report ? answer_reload(*report) : no_answer("the event loop has not answered");
}

}  // namespace pgb

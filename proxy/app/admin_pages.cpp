// What is answered over HTTP, and to whom. Everything here but open_http() runs on the threads of the
// HTTP servers: it sees copies of the state and asks the loop.

#include "proxy/admin/dashboard/assets.h"
#include "proxy/admin/http_guard.h"
#include "proxy/admin/views.h"
#include "proxy/admin/workload_request.h"
#include "proxy/app/server.h"
#include "proxy/io/clock.h"
#include "proxy/io/small_file.h"

namespace pgb {

namespace {

constexpr std::string_view kHoldersPath = "/api/v1/holders";
constexpr std::string_view kMetricsPath = "/metrics";
constexpr std::string_view kReloadPath = "/api/v1/reload";
constexpr std::string_view kStatePath = "/api/v1/state";
constexpr std::string_view kEventsPath = "/api/v1/events";
// No loop that turns takes longer; behind it the page says how old what it shows is.
constexpr Duration kStateWait = std::chrono::milliseconds(500);
// Within the time that its connection has.
constexpr Duration kChangeWait = std::chrono::seconds(1);

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
        admin_tls_ == nullptr ? nullptr : &admin_tls_->context,
        is_for_people ? [this](bool is_first) { return next_events(is_first); }
                      : EventStreams::Source());
    if (!server) return std::move(server.error());
    log_.info("serving_http",
              {{"address", address.host}, {"port", std::int64_t{server.value()->port()}}});
    http_.push_back(std::move(server.value()));
    return true;
}

HttpAnswer Server::answer_people(const HttpRequest& request) {
    if (auto refusal = refuse_stranger(request, admin_.http->host)) return std::move(*refusal);
    if (request.path == kReloadPath) return answer_reload_page(request);
    if (const auto workload = workload_in_path(request.path)) {
        return answer_workload_page(request, *workload);
    }
    if (request.path == kEventsPath && request.method == "GET") {
        return {200, {}, {}, {{"Cache-Control", "no-store"}}, HttpAnswer::Sequel::events};
    }
    if (is_reading(request)) {
        if (request.path == kHoldersPath) return answer_holders_page();
        if (request.path == kStatePath) return answer_state_page();
        if (auto asset = answer_dashboard(request)) return std::move(*asset);
    }
    return answer_probes(request);
}

// No secrets and no clients' words: who asks by which name is of no interest.
HttpAnswer Server::answer_probes(const HttpRequest& request) {
    if (!is_reading(request)) return method_not_allowed("GET, HEAD");
    auto stamped = snapshots_->fresh();
    if (!stamped) return no_answer("starting");
    if (request.path == kMetricsPath) stamped->snapshot.process = process_facts_.read();
    return answer_probe(request.path, stamped->snapshot, monotonic_now() - stamped->made,
                        request.accept);
}

HttpAnswer Server::answer_holders_page() {
    const auto list = holder_lists_->fresh();
    return list ? answer_holders(*list) : no_answer("no answer");
}

HttpAnswer Server::answer_state_page() {
    const auto state = live_states_->fresh(kStateWait);
    return state ? answer_state(*state, monotonic_now() - state->made) : no_answer("no answer");
}

std::string Server::next_events(bool is_first) {
    const auto state = live_states_->fresh(kStateWait);
    return state ? state_event(*state, monotonic_now() - state->made, is_first) : std::string();
}

// Nothing: it may change something.
std::optional<HttpAnswer> Server::refuse_to_change(const HttpRequest& request) const {
    if (request.method != "POST") return method_not_allowed("POST");
    std::optional<std::string> token;
    if (admin_.token_file) {
        // Anew each time: what is mounted rotates.
        if (const auto text = read_small_file(*admin_.token_file, 2 * kTokenBytesMax)) {
            token = token_of(*text);
        }
    }
    return refuse_change(request, token);
}

HttpAnswer Server::answer_reload_page(const HttpRequest& request) {
    if (auto refusal = refuse_to_change(request)) return std::move(*refusal);
    const std::optional<ReloadReport> report = reloads_->run(kChangeWait);
    return report ? answer_reload(*report) : no_answer("the event loop has not answered");
}

HttpAnswer Server::answer_workload_page(const HttpRequest& request, const std::string& workload) {
    if (auto refusal = refuse_to_change(request)) return std::move(*refusal);
    if (!request.body) return {0, {}, {}, {}, HttpAnswer::Sequel::body};
    Result<WorkloadRequest> wanted = read_workload_request(*request.body);
    if (!wanted) return bad_workload_request(wanted.error().message);
    const Trial trial = wanted.value().dry_run ? Trial::dry_run : Trial::no;
    const config::LiveChange change{workload, std::move(wanted.value().values)};
    const std::optional<LiveChangeReport> report = change_errands_->run(
        [this, change, trial] {
            return live_changes_.change(change, trial, {.way = "http", .name = {}});
        },
        kChangeWait);
    return report ? answer_live_change(*report) : no_answer("the event loop has not answered");
}

}  // namespace pgb

#include "proxy/admin/workload_request.h"

#include <nlohmann/json.hpp>

namespace pgb {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFolder = "/api/v1/workloads/";

HttpAnswer answer(int status, const Json& json) {
    return {status, "application/json; charset=utf-8",
            json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'};
}

int status_of(LiveChangeReport::Outcome outcome) {
    switch (outcome) {
        case LiveChangeReport::Outcome::done:
        case LiveChangeReport::Outcome::planned: return 200;
        case LiveChangeReport::Outcome::unknown_workload: return 404;
        case LiveChangeReport::Outcome::unknown_key:
        case LiveChangeReport::Outcome::bad_value: return 422;
    }
    return 500;
}

}  // namespace

// A name has no character that a path would have to spell otherwise (config's Form::name).
std::optional<std::string> workload_in_path(std::string_view path) {
    if (!path.starts_with(kFolder)) return std::nullopt;
    path.remove_prefix(kFolder.size());
    if (path.empty() || path.find('/') != std::string_view::npos) return std::nullopt;
    return std::string(path);
}

Result<WorkloadRequest> read_workload_request(std::string_view body) {
    const Json json = Json::parse(body, nullptr, false);
    if (!json.is_object()) return Error{"the body is no JSON object"};
    WorkloadRequest request;
    for (const auto& [key, value] : json.items()) {
        if (key == "dry_run") {
            if (!value.is_boolean()) return Error{"dry_run is true or false"};
            request.dry_run = value.get<bool>();
        } else if (value.is_string()) {
            request.values.emplace_back(key, value.get<std::string>());
        } else if (value.is_number_unsigned()) {
            request.values.emplace_back(key, value.dump());
        } else {
            return Error{"the value of a key is a text or a whole number from 0"};
        }
    }
    return request;
}

HttpAnswer bad_workload_request(std::string_view why) {
    return answer(400, {{"changed", false}, {"message", why}});
}

HttpAnswer answer_live_change(const LiveChangeReport& report) {
    Json json = {{"changed", report.outcome == LiveChangeReport::Outcome::done},
                 {"dry_run", report.outcome == LiveChangeReport::Outcome::planned}};
    if (!report.message.empty()) json["message"] = report.message;
    if (!report.suggestion.empty()) json["suggestion"] = report.suggestion;
    json["changes"] = Json::array();
    for (const ReloadReport::Change& change : report.changes) {
        json["changes"].push_back(
            {{"key", change.key}, {"before", change.before}, {"after", change.after}});
    }
    json["warnings"] = report.warnings;
    return answer(status_of(report.outcome), json);
}

}  // namespace pgb

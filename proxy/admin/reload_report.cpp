#include "proxy/admin/reload_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pgb {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ReloadReport::Mistake& mistake) {
    return {{"severity", mistake.is_error ? "error" : "warning"},
            {"file", mistake.file},
            {"line", mistake.line},
            {"column", mistake.column},
            {"code", mistake.code},
            {"message", mistake.text}};
}

Json to_json(const ReloadReport::Change& change) {
    return {{"key", change.key},
            {"before", change.before},
            {"after", change.after},
            {"in_force", change.in_force}};
}

int status_of(ReloadReport::Outcome outcome) {
    switch (outcome) {
        case ReloadReport::Outcome::done: return 200;
        case ReloadReport::Outcome::refused: return 422;
        case ReloadReport::Outcome::no_file: return 409;
    }
    return 500;
}

}  // namespace

HttpAnswer answer_reload(const ReloadReport& report) {
    Json json = {{"reloaded", report.outcome == ReloadReport::Outcome::done}};
    if (!report.message.empty()) json["message"] = report.message;
    json["changes"] = Json::array();
    for (const auto& change : report.changes) json["changes"].push_back(to_json(change));
    json["restart_needed"] =
        std::count_if(report.changes.begin(), report.changes.end(),
                      [](const ReloadReport::Change& change) { return !change.in_force; });
    json["complaints"] = Json::array();
    for (const auto& mistake : report.mistakes) json["complaints"].push_back(to_json(mistake));
    // A file may hold any bytes.
    return {status_of(report.outcome), "application/json; charset=utf-8",
            json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'};
}

}  // namespace pgb

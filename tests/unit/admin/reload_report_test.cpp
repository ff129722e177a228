#include "proxy/admin/reload_report.h"

#include <nlohmann/json.hpp>

#include "tests/support/catch.h"

using namespace pgb;

TEST_CASE("reload report: what was put in force and what waits for a restart") {
    ReloadReport report;
    report.changes = {{"workloads.a.queue", "1", "2", true}, {"admin.http", "x", "y", false}};
    report.mistakes = {{"f", 1, 2, "PGB-CFG-043", "words", false}};
    const HttpAnswer answer = answer_reload(report);
    CHECK(answer.status == 200);
    const auto json = nlohmann::json::parse(answer.body);
    CHECK(json["reloaded"] == true);
    CHECK(json["restart_needed"] == 1);
    CHECK(json["changes"][0]["after"] == "2");
    CHECK(json["changes"][1]["in_force"] == false);
    CHECK(json["complaints"][0]["severity"] == "warning");
}

TEST_CASE("reload report: a refusal has another status, its reason and the places") {
    ReloadReport report;
    report.outcome = ReloadReport::Outcome::refused;
    report.message = "the file has mistakes";
    report.mistakes = {{"f", 3, 7, "PGB-CFG-010", "bytes that are no text: \xff", true}};
    const HttpAnswer answer = answer_reload(report);
    CHECK(answer.status == 422);
    const auto json = nlohmann::json::parse(answer.body);
    CHECK(json["reloaded"] == false);
    CHECK(json["message"] == "the file has mistakes");
    CHECK(json["complaints"][0]["line"] == 3);
    CHECK(answer_reload({.outcome = ReloadReport::Outcome::no_file}).status == 409);
}

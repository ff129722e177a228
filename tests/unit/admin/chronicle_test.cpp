#include "proxy/admin/chronicle.h"

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

TEST_CASE("chronicle: it holds so many events, the newest first") {
    Chronicle chronicle;
    for (int i = 0; i < 300; ++i) chronicle.note(EventKind::changed, {}, std::to_string(i), i);
    const std::vector<Event> all = chronicle.latest(1000);
    REQUIRE(all.size() == Chronicle::kEventsMax);
    CHECK(all.front().text == "299");
    CHECK(all.front().number == 300);
    CHECK(all.back().text == "100");
    CHECK(chronicle.latest(2).size() == 2);
}

TEST_CASE("chronicle: an end that is told late stands at its own time") {
    Chronicle chronicle;
    chronicle.overload_began(0, "a", "queue_full", 10);
    chronicle.note(EventKind::reloaded, {}, "by file", 50);
    CHECK(chronicle.is_overloaded(0));
    chronicle.overload_ended(0, "a", 20);
    CHECK_FALSE(chronicle.is_overloaded(0));
    const std::vector<Event> all = chronicle.latest(3);
    CHECK(all[0].kind == EventKind::reloaded);
    CHECK(all[1].kind == EventKind::overload_ended);
    CHECK(all[2].kind == EventKind::overload_began);
}

TEST_CASE("chronicle: a backend's trouble is told once, and its end once") {
    Chronicle chronicle;
    chronicle.note_reachable("*", true, {}, 1);
    chronicle.note_reachable("*", false, "connection refused", 2);
    chronicle.note_reachable("*", false, "connection refused", 3);
    chronicle.note_reachable("other", true, {}, 3);
    chronicle.note_reachable("*", true, {}, 4);
    chronicle.note_reachable("*", true, {}, 5);
    const std::vector<Event> all = chronicle.latest(9);
    REQUIRE(all.size() == 2);
    CHECK(all[0].kind == EventKind::backend_up);
    CHECK(all[1].kind == EventKind::backend_down);
    CHECK(all[1].subject == "*");
    CHECK(all[1].text == "connection refused");
}

TEST_CASE("chronicle: a reload is told with what is different, a refused one with why") {
    Chronicle chronicle;
    ReloadReport done;
    done.changes = {{"workloads[a].queue", "1", "2", true},
                    {"limits.max_clients", "5", "6", false}};
    chronicle.note_reload("file", done, 1);
    ReloadReport refused{.outcome = ReloadReport::Outcome::refused, .message = "mistakes"};
    ReloadReport::Mistake mistake;
    mistake.text = "no such key";
    ReloadReport::Mistake warning;
    warning.text = "a hint";
    warning.is_error = false;
    refused.mistakes = {mistake, warning};
    chronicle.note_reload("SIGHUP", refused, 2);
    const std::vector<Event> all = chronicle.latest(2);
    CHECK(all[1].text ==
          "by file: workloads[a].queue: 1 -> 2; limits.max_clients: 5 -> 6 (restart needed)");
    CHECK(all[0].text == "by SIGHUP: mistakes; no such key");
    CHECK(is_trouble(all[0].kind));
}

TEST_CASE("chronicle: a text is cut, and not inside a character") {
    Chronicle chronicle;
    std::string text(Chronicle::kTextMax - 1, 'x');
    chronicle.note(EventKind::changed, {}, text + "\u00e9\u00e9", 1);
    CHECK(chronicle.latest(1)[0].text == text + "...");
}

}  // namespace
}  // namespace pgb::test

#include "proxy/admin/holders.h"

#include <nlohmann/json.hpp>

#include "proxy/admin/overload.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

Instant at(Duration since) { return Instant(since); }

HolderList two_holders() {
    HolderList list;
    list.made = at(100s);
    Holder waiting{.workload = "reports",
                   .state = HolderState::waiting_for_lock,
                   .granted_at = at(90s),
                   .state_since = at(92s),
                   .client = "10.0.0.7:4711",
                   .application_name = "it's; pid=1",
                   .database = "shop",
                   .user = "alice",
                   .pid = 77,
                   .statement = "update t set a = 'secret' where id = 5",
                   .statement_whole = true,
                   .waits_for = {{.pid = 99,
                                  .state = "idle in transaction",
                                  .client = "10.0.0.9",
                                  .application_name = "psql",
                                  .user = "bob",
                                  .database = "shop"}}};
    Holder idle = waiting;
    idle.state = HolderState::idle_in_transaction;
    idle.granted_at = idle.state_since = at(98s);
    idle.waits_for.clear();
    idle.statement.clear();
    idle.application_name = "\xff\xfe";
    list.holders = {waiting, idle};
    list.shares[index_of(HolderState::waiting_for_lock)] = {1, 8s};
    list.shares[index_of(HolderState::idle_in_transaction)] = {1, 2s};
    list.left_out = 3;
    return list;
}

TEST_CASE("holders: JSON tells each with age, state, statement without literals, and its blocker") {
    const HttpAnswer answer = answer_holders(two_holders());
    CHECK(answer.status == 200);
    CHECK(answer.content_type == "application/json; charset=utf-8");
    CHECK(answer.body.find("secret") == std::string::npos);
    const Json body = Json::parse(answer.body);
    CHECK(body["left_out"] == 3);
    CHECK(body["states"]["waiting_for_lock"] == 1);
    CHECK(body["states"]["orphaned"] == 0);
    const Json& first = body["holders"][0];
    CHECK(first["workload"] == "reports");
    CHECK(first["state"] == "waiting_for_lock");
    CHECK(first["age_seconds"] == 10.0);
    CHECK(first["state_seconds"] == 8.0);
    CHECK(first["pid"] == 77);
    CHECK(first["client"] == "10.0.0.7:4711");
    CHECK(first["statement"] == "update t set a = ? where id = ?");
    CHECK(first["waits_for"][0]["pid"] == 99);
    CHECK(first["waits_for"][0]["application_name"] == "psql");
    CHECK(body["holders"][1]["statement"].is_null());
}

TEST_CASE("holders: a line names the oldest, whom they wait for, and where the time goes") {
    const HolderList list = two_holders();
    CHECK(describe_oldest(list, 1) ==
          "10.0s waiting_for_lock pid=77 client=10.0.0.7:4711 application='it''s; pid=1' "
          "statement='update t set a = ? where id = ?'");
    CHECK(describe_lock_holders(list, 3) ==
          "pid=99 idle in transaction client=10.0.0.9 application='psql'");
    CHECK(describe_shares(list) == "idle_in_transaction=20% waiting_for_lock=80%");
    CHECK(describe_lock_holders(HolderList{}, 3).empty());
    CHECK(describe_shares(HolderList{}).empty());
}

TEST_CASE("holders: a long statement and a long name are shortened in the line") {
    HolderList list = two_holders();
    list.holders[0].application_name.assign(5000, 'x');
    list.holders[0].statement = "select " + std::string(900, 'c');
    CHECK(describe_oldest(list, 1).size() < 400);
}

TEST_CASE("overload: an episode begins with the first refusal after half a minute without one") {
    OverloadWatch watch(2);
    CHECK(watch.on_refusal(0, at(1s)));
    CHECK_FALSE(watch.on_refusal(0, at(1s)));
    CHECK_FALSE(watch.on_refusal(0, at(30s)));
    // It has lasted for more than that, but never been quiet.
    CHECK_FALSE(watch.on_refusal(0, at(59s)));
    CHECK(watch.on_refusal(1, at(59s)));
    CHECK(watch.on_refusal(0, at(89s)));
    CHECK_FALSE(watch.on_refusal(0, at(90s)));
}

}  // namespace
}  // namespace pgb::test

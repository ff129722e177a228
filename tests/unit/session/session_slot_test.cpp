#include "proxy/session/session_slot.h"

#include <string>
#include <string_view>

#include "protocol/writer.h"
#include "tests/support/catch.h"

using namespace pgb;
using namespace std::chrono_literals;

namespace {

struct Bench {
    StateTracking tracking;
    SessionTables tables{frontend_heads(4096), backend_heads(4096), &tracking};
    StatementRegistry statements;
    AwakeSessions awake{tables, statements};
    ReportedValues unset;
    Outbox out;
    Instant now{1s};

    SessionSeed seed() {
        unset.set("application_name", "app");
        SessionSeed seed{.told = {}, .unset = &unset, .origin = 7, .last_activity = now};
        seed.told.set("application_name", "app");
        return seed;
    }
    void say(SessionSlot& slot, std::string_view text) {
        std::string message;
        MessageWriter(message).begin('Q').cstring(text).end();
        slot->note_frontend_activity(now);
        CHECK(slot->on_frontend(message, {now}, out) == message.size());
        out.clear();
    }
    void look_after(Duration silence) {
        (void)awake.next_look(now);
        now = now + silence;
        awake.look(now);
    }
};

}  // namespace

TEST_CASE("session slot: a session is made by the first event and not by the login") {
    Bench bench;
    SessionSlot slot(bench.awake);
    slot.begin(bench.seed());
    slot.note_frontend_activity(bench.now);
    CHECK(slot.told("application_name") == "app");
    CHECK(slot.state() == SessionState::idle);
    CHECK(slot.idle_since() == bench.now);
    CHECK_FALSE(slot.is_awake());
    CHECK(bench.awake.next_look(bench.now).is_never());
    bench.say(slot, ";");
    CHECK(slot.is_awake());
    CHECK(slot->told("application_name") == "app");
    CHECK(bench.awake.size() == 1);
}

TEST_CASE("session slot: who is silent for long enough rests, and no sooner") {
    Bench bench;
    SessionSlot slot(bench.awake);
    slot.begin(bench.seed());
    bench.say(slot, ";");
    const Instant spoke = bench.now;
    bench.look_after(AwakeSessions::kSilence - 1ms);
    CHECK(slot.is_awake());
    bench.look_after(AwakeSessions::kSilence);
    CHECK_FALSE(slot.is_awake());
    CHECK(slot.idle_since() == spoke);
    CHECK(bench.awake.next_look(bench.now).is_never());
}

TEST_CASE("session slot: who has begun something does not rest") {
    Bench bench;
    SessionSlot slot(bench.awake);
    slot.begin(bench.seed());
    bench.say(slot, "begin");
    bench.look_after(10s);
    CHECK(slot.is_awake());
    bench.say(slot, "rollback");
    bench.look_after(10s);
    CHECK_FALSE(slot.is_awake());
}

TEST_CASE("session slot: one that is destroyed awake is looked at no more") {
    Bench bench;
    {
        SessionSlot slot(bench.awake);
        slot.begin(bench.seed());
        bench.say(slot, ";");
        CHECK(bench.awake.size() == 1);
    }
    CHECK(bench.awake.size() == 0);
    bench.look_after(10s);
}

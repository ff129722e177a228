#include <string>
#include <string_view>

#include "proxy/session/reply_ledger.h"
#include "tests/support/catch.h"
#include "tests/unit/session/ledger_wire.h"

namespace pgb {

namespace {
// The next statement of the same frontend works, and nothing is left behind it.
void check_select_answers(Wire& wire) {
    wire.send("Q");
    CHECK(wire.forwards("TDCZ"));
    CHECK(wire.at_rest());
}
}  // namespace

TEST_CASE("reply ledger: an extended COPY in whose Sync comes last is owed one ReadyForQuery") {
    Wire wire;
    wire.send("PBES");
    CHECK(wire.forwards("12G"));
    CHECK(wire.ledger.copying_in());
    CHECK_FALSE(wire.ledger.settled());
    CHECK(wire.ledger.unsynced());
    CHECK(wire.ledger.frontend_syncs() == 0);
    wire.send("dc");
    CHECK_FALSE(wire.ledger.copying_in());
    CHECK_FALSE(wire.ledger.settled());
    wire.send("S");
    CHECK(wire.ledger.frontend_syncs() == 1);
    CHECK_FALSE(wire.ledger.unsynced());
    CHECK(wire.reply("CZZ") == "ff?");
    CHECK_FALSE(wire.ledger.uncertain());
    check_select_answers(wire);
}

TEST_CASE("reply ledger: Syncs and Flushes inside a simple COPY in are eaten") {
    Wire wire;
    wire.send("Q");
    CHECK(wire.forwards("G"));
    CHECK(wire.ledger.copying_in());
    wire.send("dSHSd");
    CHECK(wire.ledger.copying_in());
    CHECK(wire.ledger.frontend_syncs() == 1);
    wire.send("c");
    CHECK(wire.reply("CZZ") == "ff?");
    CHECK_FALSE(wire.ledger.uncertain());
    check_select_answers(wire);
}

TEST_CASE("reply ledger: Syncs before, inside and behind an extended COPY in") {
    Wire wire;
    wire.send("SPBE");
    CHECK(wire.forwards("Z12G"));
    wire.send("dSdSdcS");
    CHECK(wire.ledger.frontend_syncs() == 1);
    CHECK(wire.reply("CZZ") == "ff?");
    CHECK_FALSE(wire.ledger.uncertain());
    check_select_answers(wire);
}

TEST_CASE("reply ledger: Syncs behind a simple COPY in each have their answer") {
    Wire wire;
    wire.send("Q");
    CHECK(wire.forwards("G"));
    wire.send("dcSS");
    CHECK(wire.reply("CZZZZ") == "ffff?");
    check_select_answers(wire);
}

TEST_CASE("reply ledger: CopyDone sent ahead of CopyInResponse ends the COPY that it meets") {
    Wire simple;
    simple.send("QddcQ");
    CHECK(simple.forwards("G"));
    CHECK_FALSE(simple.ledger.copying_in());
    CHECK(simple.ledger.frontend_syncs() == 2);
    CHECK(simple.forwards("CZTDCZ"));
    CHECK(simple.at_rest());

    Wire extended;
    extended.send("PBEdcS");
    CHECK(extended.forwards("12G"));
    CHECK_FALSE(extended.ledger.copying_in());
    CHECK_FALSE(extended.ledger.unsynced());
    CHECK(extended.reply("CZZ") == "ff?");
    check_select_answers(extended);
}

TEST_CASE(
    "reply ledger: a whole pipeline with Syncs around its CopyDone is read as the server does") {
    Wire wire;
    wire.send("PBESdScSPBESQ");
    CHECK(wire.forwards("12G"));
    // The two Syncs before CopyDone are COPY data, the one behind it ends the batch.
    CHECK(wire.ledger.frontend_syncs() == 3);
    CHECK(wire.forwards("CZ12CZTDCZ"));
    CHECK(wire.at_rest());
    CHECK_FALSE(wire.ledger.uncertain());
}

TEST_CASE("reply ledger: CopyDone and CopyFail outside a COPY leave no trace") {
    Wire wire;
    wire.send("cc");
    CHECK(wire.at_rest());
    wire.send("QcdcQcPcBcEcS");
    CHECK(wire.forwards("CZEZ12CZ"));
    CHECK(wire.at_rest());
    wire.send("Qc");
    CHECK(wire.forwards("EZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: two COPYs of one Query need an end each") {
    Wire late;
    late.send("Q");
    CHECK(late.forwards("G"));
    late.send("dc");
    CHECK(late.forwards("CG"));
    CHECK(late.ledger.copying_in());
    late.send("dSc");
    CHECK(late.forwards("CZ"));
    CHECK(late.at_rest());

    Wire early;
    early.send("QdcdcQ");
    CHECK(early.forwards("G"));
    CHECK_FALSE(early.ledger.copying_in());
    CHECK(early.forwards("CG"));
    CHECK_FALSE(early.ledger.copying_in());
    CHECK(early.forwards("CZCZ"));
    CHECK(early.at_rest());

    Wire short_of_one;
    short_of_one.send("Qdc");
    CHECK(short_of_one.forwards("GCG"));
    CHECK(short_of_one.ledger.copying_in());
}

TEST_CASE("reply ledger: a simple COPY that fails leaves its late data without an answer") {
    Wire wire;
    wire.send("Q");
    CHECK(wire.forwards("G"));
    wire.send("d");
    CHECK(wire.forwards("E"));
    CHECK_FALSE(wire.ledger.copying_in());
    CHECK(wire.forwards("Z"));
    CHECK(wire.at_rest());
    CHECK_FALSE(wire.ledger.uncertain());
    wire.send("ddc");
    CHECK(wire.at_rest());
    check_select_answers(wire);
}

TEST_CASE("reply ledger: the end of a simple COPY may cross its error on the way") {
    Wire wire;
    wire.send("Q");
    CHECK(wire.forwards("G"));
    wire.send("dcQ");
    CHECK(wire.forwards("EZ"));
    CHECK(wire.forwards("TDCZ"));
    CHECK(wire.at_rest());
    CHECK_FALSE(wire.ledger.uncertain());
}

TEST_CASE("reply ledger: an extended COPY that fails skips to the Sync behind it") {
    Wire wire;
    wire.send("PBE");
    CHECK(wire.forwards("12G"));
    wire.send("d");
    CHECK(wire.forwards("E"));
    CHECK_FALSE(wire.ledger.copying_in());
    CHECK(wire.ledger.settled());
    CHECK(wire.ledger.unsynced());
    wire.send("dcS");
    CHECK_FALSE(wire.ledger.unsynced());
    CHECK(wire.reply("ZZ") == "f?");
    CHECK_FALSE(wire.ledger.uncertain());
    check_select_answers(wire);
}

TEST_CASE("reply ledger: CopyFail ends an extended COPY by an error and the Sync is answered") {
    Wire wire;
    wire.send("PBE");
    CHECK(wire.forwards("12G"));
    wire.send("dcS");
    CHECK(wire.reply("EZZ") == "ff?");
    check_select_answers(wire);
}

TEST_CASE("reply ledger: after a failed COPY a Sync sent inside it is in doubt") {
    for (const bool eaten : {true, false}) {
        INFO(eaten);
        Wire wire;
        wire.send("Q");
        CHECK(wire.forwards("G"));
        wire.send("dSc");
        CHECK_FALSE(wire.ledger.uncertain());
        CHECK(wire.forwards("E"));
        CHECK(wire.ledger.uncertain());
        CHECK(wire.forwards("Z"));
        CHECK(wire.ledger.settled());
        CHECK(wire.ledger.uncertain());
        if (!eaten) {
            CHECK(wire.forwards("Z"));
            CHECK_FALSE(wire.ledger.uncertain());
            CHECK(wire.reply("Z") == "?");
        }
        check_select_answers(wire);
    }
}

TEST_CASE("reply ledger: a barrier tells whether the Sync in doubt was eaten") {
    for (const bool eaten : {true, false}) {
        INFO(eaten);
        Wire wire;
        wire.send("Q");
        CHECK(wire.forwards("G"));
        wire.send("dSc");
        CHECK(wire.forwards("EZ"));
        wire.send_own("CS");
        if (!eaten) CHECK(wire.forwards("Z"));
        CHECK(wire.reply("3Z") == "--");
        wire.ledger.clear_uncertain();
        CHECK_FALSE(wire.ledger.uncertain());
        CHECK(wire.at_rest());
        CHECK(wire.reply("Z") == "?");
    }
}

TEST_CASE(
    "reply ledger: the batch behind a COPY that failed is answered whichever way Syncs went") {
    for (const bool eaten : {true, false}) {
        INFO(eaten);
        Wire wire;
        wire.send("PBE");
        CHECK(wire.forwards("12G"));
        wire.send("dScSPBES");
        CHECK(wire.forwards("E"));
        CHECK(wire.ledger.uncertain());
        CHECK(wire.forwards(eaten ? "Z" : "ZZ"));
        CHECK(wire.forwards("12CZ"));
        CHECK(wire.at_rest());
        CHECK(wire.ledger.uncertain() == eaten);
    }
}

TEST_CASE("reply ledger: a COPY that succeeds leaves no doubt about the Syncs it ate") {
    Wire wire;
    wire.send("Q");
    CHECK(wire.forwards("G"));
    wire.send("SSdc");
    // An error of the same Query behind the COPY is not an error of the COPY.
    CHECK(wire.forwards("CEZ"));
    CHECK_FALSE(wire.ledger.uncertain());
    CHECK(wire.reply("Z") == "?");
}

TEST_CASE("reply ledger: an own CopyFail ends the frontend's COPY and an own Sync its batch") {
    Wire wire;
    wire.send("PBE");
    CHECK(wire.forwards("12G"));
    wire.send("dd");
    wire.send_own("cBS");
    CHECK_FALSE(wire.ledger.copying_in());
    CHECK(wire.forwards("E"));
    CHECK(wire.ledger.next_is_own());
    CHECK(wire.reply("Z") == "-");
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: COPY out, by Query and by Execute, is a run of the frontend's replies") {
    Wire wire;
    wire.send("QPBES");
    CHECK(wire.forwards("HddcCZ12HddcCZ"));
    CHECK(wire.at_rest());
    wire.send("PBES");
    CHECK(wire.forwards("12HdEZ"));
    CHECK(wire.at_rest());
}

}  // namespace pgb

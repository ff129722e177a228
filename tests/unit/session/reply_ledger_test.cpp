#include "proxy/session/reply_ledger.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/session/ledger_wire.h"

namespace pgb {

TEST_CASE("reply ledger: a new ledger is settled and takes no reply") {
    for (const char type : std::string("Z12C3tTnDIEsGHdcVRKSNAWv")) {
        Wire wire;
        CHECK(wire.at_rest());
        CHECK_FALSE(wire.ledger.uncertain());
        INFO(type);
        CHECK(wire.reply(std::string(1, type)) == "?");
    }
}

TEST_CASE("reply ledger: a Query is settled by its ReadyForQuery, whatever came before it") {
    for (const char* replies : {"CZ", "IZ", "TDDCZ", "TCTDCZ", "EZ", "TDEZ", "CEZ", "HdddcCZ"}) {
        INFO(replies);
        Wire wire;
        wire.send("Q");
        CHECK(wire.ledger.frontend_syncs() == 1);
        CHECK(wire.ledger.has_sync());
        for (const char* at = replies; *at != '\0'; ++at) {
            CHECK_FALSE(wire.ledger.settled());
            CHECK(wire.forwards(std::string(1, *at)));
        }
        CHECK(wire.at_rest());
    }
}

TEST_CASE("reply ledger: an extended batch is unsynced up to its Sync and owed up to its reply") {
    Wire wire;
    wire.send("PBpE");
    CHECK(wire.ledger.unsynced());
    CHECK_FALSE(wire.ledger.has_sync());
    CHECK(wire.ledger.frontend_syncs() == 0);
    CHECK(wire.forwards("12TDDC"));
    CHECK(wire.ledger.settled());
    CHECK(wire.ledger.unsynced());
    wire.send("S");
    CHECK_FALSE(wire.ledger.unsynced());
    CHECK_FALSE(wire.ledger.settled());
    CHECK(wire.ledger.frontend_syncs() == 1);
    CHECK(wire.forwards("Z"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: Sync alone is answered by one ReadyForQuery each") {
    Wire wire;
    wire.send("SSS");
    CHECK(wire.ledger.frontend_syncs() == 3);
    CHECK(wire.reply("ZZZZ") == "fff?");
}

TEST_CASE("reply ledger: Describe of a statement has two answers, of a portal one") {
    Wire wire;
    wire.send("PsBpCS");
    CHECK(wire.forwards("1t"));
    CHECK(wire.ledger.size() == 5);
    CHECK(wire.forwards("T2n3Z"));
    CHECK(wire.at_rest());
    wire.send("spS");
    CHECK(wire.forwards("tnTZ"));
    CHECK(wire.at_rest());
    wire.send("p");
    CHECK(wire.reply("t") == "?");
}

TEST_CASE("reply ledger: an Execute ends by its tag, by an empty query or by its row limit") {
    Wire wire;
    wire.send("BEEES");
    CHECK(wire.forwards("2DDsDsCZ"));
    CHECK(wire.at_rest());
    wire.send("PBES");
    CHECK(wire.forwards("12IZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: a FunctionCall is owed one ReadyForQuery with or without an error") {
    Wire wire;
    wire.send("FF");
    CHECK(wire.ledger.frontend_syncs() == 2);
    CHECK(wire.forwards("VZEZ"));
    CHECK(wire.at_rest());
    wire.send("F");
    CHECK(wire.reply("C") == "?");
    CHECK(wire.reply("D") == "?");
    CHECK(wire.forwards("VZ"));
    wire.send("Q");
    CHECK(wire.reply("V") == "?");
}

TEST_CASE("reply ledger: a Query behind an extended batch without a Sync ends the batch") {
    Wire wire;
    wire.send("PBEQ");
    CHECK_FALSE(wire.ledger.unsynced());
    CHECK(wire.ledger.has_sync());
    CHECK(wire.forwards("12CDCZ"));
    CHECK(wire.at_rest());
    wire.send("PBEF");
    CHECK_FALSE(wire.ledger.unsynced());
    CHECK(wire.forwards("12CVZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: a batch with a Query inside and no error is owed two ReadyForQuerys") {
    Wire wire;
    wire.send("PBEQS");
    CHECK(wire.ledger.frontend_syncs() == 2);
    CHECK(wire.forwards("12CCZ"));
    CHECK_FALSE(wire.ledger.settled());
    CHECK(wire.ledger.frontend_syncs() == 1);
    CHECK(wire.reply("ZZ") == "f?");
    CHECK(wire.ledger.settled());
}

TEST_CASE("reply ledger: a Query in a failed batch is thrown away as the server does") {
    Wire wire;
    wire.send("PBEQS");
    CHECK(wire.forwards("1E"));
    CHECK(wire.ledger.frontend_syncs() == 1);
    CHECK(wire.reply("C") == "?");
    CHECK(wire.forwards("Z"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: a failed batch without a Sync owes nothing and stays unsynced until it") {
    Wire wire;
    wire.send("PBEQ");
    CHECK(wire.forwards("1E"));
    CHECK(wire.ledger.settled());
    CHECK(wire.ledger.unsynced());
    wire.send("QFPBEspC");
    CHECK(wire.ledger.size() == 0);
    CHECK(wire.ledger.unsynced());
    wire.send("S");
    CHECK_FALSE(wire.ledger.unsynced());
    CHECK(wire.reply("ZZ") == "f?");
    wire.send("Q");
    CHECK(wire.forwards("CZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: an error skips to the first Sync that was sent and no further") {
    Wire wire;
    wire.send("PBESPBESQ");
    CHECK(wire.forwards("1E"));
    CHECK_FALSE(wire.ledger.unsynced());
    CHECK(wire.ledger.frontend_syncs() == 3);
    CHECK(wire.forwards("Z12CZ"));
    CHECK(wire.forwards("CZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: an error at any message of a batch leaves one ReadyForQuery") {
    const std::string batch = "PsBpEC";
    const std::string answers[] = {"1", "tn", "2", "T", "DC", "3"};
    for (std::size_t failing = 0; failing < batch.size(); ++failing) {
        for (const bool sync_sent : {false, true}) {
            INFO(failing << ' ' << sync_sent);
            Wire wire;
            wire.send(batch);
            if (sync_sent) wire.send("S");
            for (std::size_t i = 0; i < failing; ++i) CHECK(wire.forwards(answers[i]));
            CHECK(wire.forwards("E"));
            CHECK(wire.ledger.unsynced() != sync_sent);
            if (!sync_sent) wire.send("PBES");
            CHECK(wire.forwards("Z"));
            CHECK(wire.at_rest());
        }
    }
}

TEST_CASE("reply ledger: an error in answer to Sync itself skips nothing") {
    Wire wire;
    wire.send("PBESQ");
    CHECK(wire.forwards("12CEZ"));
    CHECK(wire.forwards("CZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: an error in answer to a Query skips nothing") {
    Wire wire;
    wire.send("QPBESQ");
    CHECK(wire.forwards("EZ"));
    CHECK(wire.forwards("12CZ"));
    CHECK(wire.forwards("CZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: a pipeline of a thousand batches is answered in order") {
    Wire wire;
    for (int i = 0; i < 1000; ++i) {
        wire.send(i % 5 == 0 ? "Q" : "PBpES");
        if (i % 7 == 0 && wire.ledger.has_sync()) continue;
    }
    CHECK(wire.ledger.frontend_syncs() == 1000);
    CHECK(wire.ledger.size() == 200 + 800 * 5);
    for (int i = 0; i < 1000; ++i) {
        CHECK_FALSE(wire.ledger.settled());
        if (i % 5 == 0) {
            CHECK(wire.forwards(i % 10 == 0 ? "TDCZ" : "EZ"));
        } else {
            CHECK(wire.forwards(i % 3 == 0 ? "12EZ" : "12TDCZ"));
        }
    }
    CHECK(wire.at_rest());
    wire.ledger.clear();
    wire.send("PBES");
    CHECK(wire.forwards("12CZ"));
}

TEST_CASE("reply ledger: a pipeline that is read while it is written keeps its order") {
    Wire wire;
    wire.send("PBES");
    for (int i = 0; i < 1000; ++i) {
        wire.send("PBESQ");
        CHECK(wire.forwards(i % 4 == 3 ? "1EZ" : "12CZ"));
        if (i > 0) CHECK(wire.forwards("CZ"));
        wire.send("");
        CHECK(wire.ledger.size() == 5);
        // The Query behind the batch just written is answered in the next turn.
    }
    CHECK(wire.forwards("12CZCZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: clear forgets a COPY, an error, a doubt and everything owed") {
    for (const char* state : {"Q", "PBE", "copy", "failed", "doubt"}) {
        INFO(state);
        Wire wire;
        const std::string_view name(state);
        if (name == "copy" || name == "doubt") {
            wire.send("BES");
            CHECK(wire.forwards("2G"));
            if (name == "doubt") CHECK(wire.forwards("E"));
        } else if (name == "failed") {
            wire.send("PB");
            CHECK(wire.forwards("E"));
        } else {
            wire.send(name);
        }
        wire.ledger.clear();
        CHECK(wire.at_rest());
        CHECK_FALSE(wire.ledger.uncertain());
        CHECK_FALSE(wire.ledger.next_is_own());
        wire.send("PBES");
        CHECK(wire.forwards("12CZ"));
    }
}

TEST_CASE("reply ledger: what is not owed next is unexpected") {
    const struct {
        const char* sent;
        const char* wrong;
    } cases[] = {{"P", "23tTnDCIsGHdcVZ"}, {"B", "13tTnDCIsGHdcVZ"}, {"s", "123DCIsGHdcVZ"},
                 {"p", "123tDCIsGHdcVZ"},  {"E", "123tTnVZ"},        {"C", "12tTnDCIsGHdcVZ"},
                 {"S", "123tTnDCIsGHdcV"}, {"Q", "123tnV"},          {"F", "123tTnDCIsGHdc"}};
    for (const auto& [sent, wrong] : cases) {
        for (const char type : std::string(wrong)) {
            INFO(sent << " answered by " << type);
            Wire wire;
            wire.send(sent);
            CHECK(wire.reply(std::string(1, type)) == "?");
        }
    }
}

TEST_CASE("reply ledger: login messages and replication are never owed") {
    for (const char type : std::string("RKSNAWv")) {
        INFO(type);
        Wire wire;
        wire.send("Q");
        CHECK(wire.reply(std::string(1, type)) == "?");
        CHECK(wire.forwards("CZ"));
    }
}

TEST_CASE("reply ledger: replies to own messages are swallowed and the frontend's forwarded") {
    Wire wire;
    wire.send_own("CPBE");
    wire.send("PBpES");
    CHECK(wire.ledger.next_is_own());
    CHECK(wire.ledger.frontend_syncs() == 1);
    CHECK(wire.reply("312") == "---");
    CHECK(wire.ledger.next_is_own());
    CHECK(wire.reply("C") == "-");
    CHECK_FALSE(wire.ledger.next_is_own());
    CHECK(wire.forwards("12TDCZ"));
    CHECK(wire.at_rest());
    CHECK_FALSE(wire.ledger.next_is_own());
}

TEST_CASE("reply ledger: an own prefix ahead of a Query is ended by the Query") {
    Wire wire;
    wire.send_own("BE");
    wire.send("Q");
    CHECK_FALSE(wire.ledger.unsynced());
    CHECK(wire.reply("2C") == "--");
    CHECK(wire.forwards("TDCZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: an error in the own prefix drops the Query and an own Sync ends it") {
    Wire wire;
    wire.send_own("BE");
    wire.send("Q");
    CHECK(wire.reply("2E") == "-!");
    CHECK_FALSE(wire.ledger.has_sync());
    CHECK(wire.ledger.frontend_syncs() == 0);
    CHECK(wire.ledger.unsynced());
    wire.send_own("S");
    CHECK(wire.ledger.next_is_own());
    CHECK(wire.reply("ZZ") == "-?");
    CHECK(wire.ledger.settled());
}

TEST_CASE("reply ledger: an error in the own prefix adopts the Sync that the frontend has sent") {
    Wire wire;
    wire.send_own("BE");
    wire.send("PBESPBES");
    CHECK(wire.ledger.frontend_syncs() == 2);
    CHECK(wire.reply("E") == "!");
    CHECK(wire.ledger.has_sync());
    wire.ledger.adopt_sync();
    CHECK(wire.ledger.next_is_own());
    CHECK(wire.ledger.frontend_syncs() == 1);
    CHECK(wire.reply("Z") == "-");
    CHECK(wire.forwards("12CZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: the frontend's error behind a good own prefix is the frontend's") {
    Wire wire;
    wire.send_own("BE");
    wire.send("PBES");
    CHECK(wire.reply("2C") == "--");
    CHECK(wire.forwards("1EZ"));
    CHECK(wire.at_rest());
}

TEST_CASE("reply ledger: an own Query is swallowed to its end") {
    Wire wire;
    wire.send_own("Q");
    CHECK(wire.ledger.frontend_syncs() == 0);
    CHECK(wire.reply("TDCZ") == "----");
    wire.send_own("Q");
    CHECK(wire.reply("EZ") == "!-");
    CHECK(wire.at_rest());
}

}  // namespace pgb

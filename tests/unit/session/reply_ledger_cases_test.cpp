#include <string_view>

#include "proxy/session/reply_ledger.h"
#include "tests/support/catch.h"

namespace pgb::test {
namespace {

// Sends messages by their letters: `p` is a Parse, the rest as on the wire; `|` in front of a
// letter makes it the proxy's own.
void send(ReplyLedger& ledger, std::string_view letters) {
    Origin origin = Origin::frontend;
    for (const char letter : letters) {
        switch (letter) {
            case '|': origin = Origin::own; continue;
            case 'Q': ledger.owe(Owed::query, origin); break;
            case 'F': ledger.owe(Owed::function_call, origin); break;
            case 'P': ledger.owe(Owed::parse, origin); break;
            case 'B': ledger.owe(Owed::bind, origin); break;
            case 'D': ledger.owe(Owed::describe_portal, origin); break;
            case 'd': ledger.owe(Owed::describe_statement, origin); break;
            case 'E': ledger.owe(Owed::execute, origin); break;
            case 'C': ledger.owe(Owed::close, origin); break;
            case 'S': ledger.owe(Owed::sync, origin); break;
            case 'c': ledger.owe(Owed::copy_end, origin); break;
            default: FAIL("no such message");
        }
        origin = Origin::frontend;
    }
}

// What becomes of the replies: f forward, s swallow, o error of the proxy's own, u unexpected.
std::string replies(ReplyLedger& ledger, std::string_view types) {
    std::string rulings;
    for (const char type : types) {
        switch (ledger.on_reply(static_cast<BackendType>(type))) {
            case Ruling::forward: rulings += 'f'; break;
            case Ruling::swallow: rulings += 's'; break;
            case Ruling::own_error: rulings += 'o'; break;
            case Ruling::unexpected: rulings += 'u'; break;
        }
    }
    return rulings;
}

// Nothing is owed, and one ReadyForQuery more would be a server's mistake.
void check_over(ReplyLedger& ledger) {
    CHECK(ledger.settled());
    CHECK_FALSE(ledger.unsynced());
    CHECK(replies(ledger, "Z") == "u");
}

TEST_CASE("ledger: a batch is over at its ReadyForQuery and not before") {
    ReplyLedger ledger;
    send(ledger, "PBDES");
    CHECK_FALSE(ledger.settled());
    CHECK(replies(ledger, "12TDDC") == "ffffff");
    CHECK_FALSE(ledger.settled());
    CHECK(replies(ledger, "Z") == "f");
    check_over(ledger);
}

TEST_CASE(
    "ledger: 500 pipelined batches owe 500 ReadyForQuerys, however far ahead they were sent") {
    ReplyLedger ledger;
    for (int i = 0; i < 500; ++i) send(ledger, "PBES");
    CHECK(ledger.frontend_syncs() == 500);
    for (int i = 0; i < 500; ++i) {
        CHECK_FALSE(ledger.settled());
        CHECK(replies(ledger, "12DCZ") == "fffff");
    }
    check_over(ledger);
}

TEST_CASE("ledger: sending and answering in turn crosses the ring's end without a loss") {
    ReplyLedger ledger;
    send(ledger, "QQQQQ");
    for (int i = 0; i < 1000; ++i) {
        send(ledger, "PBES");
        CHECK(replies(ledger, i < 5 ? "CZ" : "12CZ") == (i < 5 ? "ff" : "ffff"));
    }
    for (int i = 0; i < 5; ++i) CHECK(replies(ledger, "12CZ") == "ffff");
    check_over(ledger);
}

TEST_CASE("ledger: an error in a batch skips to its Sync, and to no other") {
    ReplyLedger ledger;
    send(ledger, "PBEPBESPBES");
    CHECK(replies(ledger, "12EZ") == "ffff");
    CHECK_FALSE(ledger.settled());
    CHECK(replies(ledger, "12CZ") == "ffff");
    check_over(ledger);
}

TEST_CASE("ledger: an error before the Sync leaves the batch open until the Sync was sent") {
    ReplyLedger ledger;
    send(ledger, "PBE");
    CHECK(replies(ledger, "12E") == "fff");
    CHECK(ledger.unsynced());
    send(ledger, "PBEQ");
    CHECK(ledger.frontend_syncs() == 0);
    send(ledger, "S");
    CHECK_FALSE(ledger.unsynced());
    CHECK(replies(ledger, "Z") == "f");
    check_over(ledger);
}

TEST_CASE("ledger: a Query behind a batch that fails is never answered") {
    ReplyLedger ledger;
    SECTION("sent before the error") { send(ledger, "PBEQS"); }
    SECTION("and a second one") { send(ledger, "PBEQQS"); }
    CHECK(replies(ledger, "1E") == "ff");
    CHECK(replies(ledger, "Z") == "f");
    check_over(ledger);
}

TEST_CASE("ledger: a Query behind a batch without an error and the Sync are answered each") {
    ReplyLedger ledger;
    send(ledger, "PBEQS");
    CHECK(replies(ledger, "12CTDCZ") == "fffffff");
    CHECK_FALSE(ledger.settled());
    CHECK(replies(ledger, "Z") == "f");
    check_over(ledger);
}

TEST_CASE("ledger: an error of that Query ends the Query, and its Sync is answered, too") {
    ReplyLedger ledger;
    send(ledger, "PBEQS");
    CHECK(replies(ledger, "12CEZ") == "fffff");
    CHECK(replies(ledger, "Z") == "f");
    check_over(ledger);
}

TEST_CASE("ledger: a batch that a Query has ended is not open any more") {
    ReplyLedger ledger;
    send(ledger, "PBEQ");
    CHECK_FALSE(ledger.unsynced());
    CHECK(replies(ledger, "12CCZ") == "fffff");
    check_over(ledger);
}

TEST_CASE("ledger: extended COPY eats the Syncs sent before its end") {
    ReplyLedger ledger;
    send(ledger, "PBES");
    CHECK(replies(ledger, "12G") == "fff");
    CHECK(ledger.copying_in());
    CHECK(ledger.unsynced());
    send(ledger, "c");
    CHECK_FALSE(ledger.settled());
    send(ledger, "S");
    CHECK(replies(ledger, "CZ") == "ff");
    CHECK_FALSE(ledger.uncertain());
    check_over(ledger);
}

TEST_CASE("ledger: simple COPY with Syncs inside owes one ReadyForQuery") {
    ReplyLedger ledger;
    SECTION("sent after it began") {
        send(ledger, "Q");
        CHECK(replies(ledger, "G") == "f");
        send(ledger, "SSc");
    }
    SECTION("sent ahead") {
        send(ledger, "QSSc");
        CHECK(replies(ledger, "G") == "f");
    }
    CHECK(replies(ledger, "CZ") == "ff");
    CHECK_FALSE(ledger.uncertain());
    check_over(ledger);
}

TEST_CASE("ledger: a COPY that never began answers the Syncs meant for its inside") {
    ReplyLedger ledger;
    send(ledger, "QSSc");
    CHECK(replies(ledger, "EZ") == "ff");
    CHECK_FALSE(ledger.settled());
    CHECK(replies(ledger, "ZZ") == "ff");
    check_over(ledger);
}

TEST_CASE("ledger: after a failed COPY it is not known whether a Sync inside it is answered") {
    ReplyLedger ledger;
    send(ledger, "Q");
    CHECK(replies(ledger, "G") == "f");
    send(ledger, "S");
    CHECK(replies(ledger, "EZ") == "ff");
    CHECK(ledger.settled());
    CHECK(ledger.uncertain());
    SECTION("it is") {
        CHECK(replies(ledger, "Z") == "f");
        CHECK_FALSE(ledger.uncertain());
        check_over(ledger);
    }
    SECTION("it was eaten, and a barrier says so") {
        send(ledger, "|C|S");
        ledger.clear_uncertain();
        CHECK(replies(ledger, "3Z") == "ss");
        check_over(ledger);
    }
}

TEST_CASE("ledger: what is left of a failed simple COPY owes nothing") {
    ReplyLedger ledger;
    send(ledger, "Q");
    CHECK(replies(ledger, "GEZ") == "fff");
    send(ledger, "c");
    CHECK(ledger.settled());
    send(ledger, "Q");
    CHECK(replies(ledger, "TDCZ") == "ffff");
    check_over(ledger);
}

TEST_CASE("ledger: a failed extended COPY owes one ReadyForQuery for the Sync behind it") {
    ReplyLedger ledger;
    send(ledger, "PBE");
    CHECK(replies(ledger, "12GE") == "ffff");
    CHECK_FALSE(ledger.copying_in());
    CHECK(ledger.unsynced());
    send(ledger, "cS");
    CHECK(replies(ledger, "Z") == "f");
    CHECK_FALSE(ledger.uncertain());
    check_over(ledger);
}

TEST_CASE("ledger: commands around a COPY in one text are one run up to one ReadyForQuery") {
    ReplyLedger ledger;
    send(ledger, "Q");
    CHECK(replies(ledger, "CG") == "ff");
    send(ledger, "c");
    CHECK(replies(ledger, "CTDCZ") == "fffff");
    check_over(ledger);
}

TEST_CASE("ledger: COPY out is a run of data, also when it fails half way") {
    ReplyLedger ledger;
    send(ledger, "QPBES");
    CHECK(replies(ledger, "HddEZ") == "fffff");
    CHECK(replies(ledger, "12HddcCZ") == "ffffffff");
    check_over(ledger);
}

TEST_CASE("ledger: a FunctionCall owes one ReadyForQuery and is thrown away in a failed batch") {
    ReplyLedger ledger;
    send(ledger, "F");
    CHECK(replies(ledger, "VZ") == "ff");
    check_over(ledger);
    send(ledger, "F");
    CHECK(replies(ledger, "EZ") == "ff");
    check_over(ledger);
    send(ledger, "PF");
    CHECK(replies(ledger, "E") == "f");
    CHECK(ledger.unsynced());
    send(ledger, "S");
    CHECK(replies(ledger, "Z") == "f");
    check_over(ledger);
}

TEST_CASE("ledger: Syncs alone owe one ReadyForQuery each") {
    ReplyLedger ledger;
    send(ledger, "SSS");
    CHECK(replies(ledger, "ZZZ") == "fff");
    check_over(ledger);
}

TEST_CASE("ledger: a suspended portal, an empty query and a Describe are answers") {
    ReplyLedger ledger;
    send(ledger, "PBEEdDCS");
    CHECK(replies(ledger, "12DsDstTn3Z") == "fffffffffff");
    ledger.clear();
    send(ledger, "PdBDECS");
    CHECK(replies(ledger, "1tn2nI3Z") == "ffffffff");
    check_over(ledger);
}

TEST_CASE("ledger: replies to the proxy's own messages are swallowed, and its errors told apart") {
    ReplyLedger ledger;
    send(ledger, "|C|P|B|EQ");
    CHECK(replies(ledger, "312") == "sss");
    CHECK(ledger.next_is_own());
    CHECK(replies(ledger, "C") == "s");
    CHECK_FALSE(ledger.next_is_own());
    CHECK(replies(ledger, "TDCZ") == "ffff");
    check_over(ledger);
    send(ledger, "|B|EPBES");
    CHECK(replies(ledger, "E") == "o");
    CHECK(ledger.has_sync());
    ledger.adopt_sync();
    CHECK(ledger.frontend_syncs() == 0);
    CHECK(replies(ledger, "Z") == "s");
    check_over(ledger);
}

TEST_CASE("ledger: an error of the proxy's own BEGIN skips the frontend's Query and stays open") {
    ReplyLedger ledger;
    send(ledger, "|B|EQ");
    CHECK(replies(ledger, "E") == "o");
    CHECK_FALSE(ledger.has_sync());
    CHECK(ledger.unsynced());
    send(ledger, "|S");
    CHECK(replies(ledger, "Z") == "s");
    check_over(ledger);
}

TEST_CASE("ledger: a told error is known until its ReadyForQuery") {
    ReplyLedger ledger;
    send(ledger, "PBESQ");
    CHECK_FALSE(ledger.error_told());
    CHECK(replies(ledger, "E") == "f");
    CHECK(ledger.error_told());
    CHECK(replies(ledger, "Z") == "f");
    CHECK_FALSE(ledger.error_told());
    CHECK(replies(ledger, "EZ") == "ff");
    check_over(ledger);
}

TEST_CASE("ledger: a reply that nothing owes is unexpected") {
    for (const std::string_view type : {"1", "2", "3", "T", "D", "C", "I", "s", "n", "t", "G",
                                        "H", "V", "Z", "E", "R", "K", "W", "v", "d", "c"}) {
        INFO(type);
        ReplyLedger idle;
        CHECK(replies(idle, type) == "u");
    }
    ReplyLedger ledger;
    send(ledger, "PBES");
    CHECK(replies(ledger, "2") == "u");
    CHECK(replies(ledger, "C") == "u");
    CHECK(replies(ledger, "Z") == "u");
    CHECK(replies(ledger, "12") == "ff");
}

}  // namespace
}  // namespace pgb::test

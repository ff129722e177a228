#include "proxy/session/reply_ledger.h"
#include "tests/support/catch.h"

namespace pgb {

TEST_CASE("reply ledger: a noted message is told of when it was answered, or skipped") {
    ReplyLedger ledger;
    ledger.owe(Owed::parse, Origin::frontend, Note::noted);
    ledger.owe(Owed::bind, Origin::frontend);
    ledger.owe(Owed::close, Origin::frontend, Note::noted);
    ledger.owe(Owed::parse, Origin::own, Note::noted);
    ledger.owe(Owed::sync, Origin::frontend);
    CHECK(ledger.next_is_noted());
    ledger.on_reply(BackendType::parse_complete);
    CHECK(ledger.take_noted().answered);
    CHECK_FALSE(ledger.take_noted().answered);
    CHECK(ledger.on_reply(BackendType::error_response) == Ruling::forward);
    const NotedReplies noted = ledger.take_noted();
    CHECK_FALSE(noted.answered);
    CHECK(noted.skipped == 2);
}

TEST_CASE("reply ledger: an error in answer to a noted message of the proxy's own is forwarded") {
    ReplyLedger ledger;
    ledger.owe(Owed::parse, Origin::own, Note::noted);
    CHECK_FALSE(ledger.next_is_own());
    CHECK(ledger.on_reply(BackendType::error_response) == Ruling::forward);
    CHECK(ledger.take_noted().skipped == 1);
    CHECK(ledger.skipping());
}

}  // namespace pgb

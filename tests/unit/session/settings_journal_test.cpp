#include "proxy/session/settings_journal.h"

#include <string>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using enum TransactionStatus;

SettingChange set(const std::string& name) {
    return {SettingChange::Kind::set, name, "SET " + name};
}

/// A journal with its book, told what a session would tell it.
struct Told {
    SettingsBook book;
    SettingsJournal journal;

    void change(const std::string& name) { journal.sent(set(name)); }
    void verb(TransactionVerb what, std::string_view savepoint = {}) {
        journal.sent_verb(what, savepoint);
    }
    void answered(std::string_view tag, TransactionStatus status) {
        journal.on_tag(tag);
        journal.on_ready(status, book);
    }
    void failed(TransactionStatus status) {
        journal.on_error();
        journal.on_ready(status, book);
    }
    [[nodiscard]] std::string names() const {
        std::string all;
        book.for_each([&all](std::string_view text) { (all += text.substr(4)) += ' '; });
        return all;
    }
};

TEST_CASE("settings journal: a change outside a block is kept with its ReadyForQuery") {
    Told told;
    told.change("a");
    CHECK(told.journal.in_flight());
    told.answered("SET", idle);
    CHECK(told.names() == "a ");
    CHECK(told.journal.empty());
}

TEST_CASE("settings journal: an error undoes what was sent before it in the same batch") {
    Told told;
    told.change("a");
    told.failed(idle);
    CHECK(told.names().empty());
    CHECK(told.journal.empty());
}

TEST_CASE("settings journal: a block keeps what COMMIT keeps, and its failure nothing") {
    Told told;
    told.change("a");
    told.answered("SET", in_block);
    CHECK(told.names().empty());
    told.verb(TransactionVerb::commit);
    told.answered("COMMIT", idle);
    CHECK(told.names() == "a ");
    told.change("b");
    told.answered("SET", in_block);
    told.failed(failed);
    told.verb(TransactionVerb::commit);
    told.answered("ROLLBACK", idle);
    CHECK(told.names() == "a ");
    CHECK_FALSE(told.journal.in_doubt());
}

TEST_CASE("settings journal: a COMMIT that fails keeps nothing") {
    Told told;
    told.change("a");
    told.answered("SET", in_block);
    told.verb(TransactionVerb::commit);
    told.failed(idle);
    CHECK(told.names().empty());
    CHECK(told.journal.empty());
}

TEST_CASE("settings journal: an error behind a COMMIT in the same batch does not undo it") {
    Told told;
    told.change("a");
    told.verb(TransactionVerb::commit);
    told.change("b");
    told.journal.on_tag("SET");
    told.journal.on_tag("COMMIT");
    told.failed(idle);
    CHECK(told.names() == "a ");
}

TEST_CASE("settings journal: a chain begins anew") {
    Told told;
    told.change("a");
    told.answered("SET", in_block);
    told.verb(TransactionVerb::commit_and_chain);
    told.answered("COMMIT", in_block);
    told.change("b");
    told.answered("SET", in_block);
    told.verb(TransactionVerb::rollback);
    told.answered("ROLLBACK", idle);
    CHECK(told.names() == "a ");
}

TEST_CASE("settings journal: ROLLBACK TO undoes what is behind its savepoint") {
    Told told;
    told.change("a");
    told.answered("SET", in_block);
    told.verb(TransactionVerb::savepoint, "\"S\"");
    told.answered("SAVEPOINT", in_block);
    told.change("b");
    told.answered("SET", in_block);
    told.failed(failed);
    told.verb(TransactionVerb::rollback_to, "\"S\"");
    told.answered("ROLLBACK", in_block);
    told.change("c");
    told.answered("SET", in_block);
    told.verb(TransactionVerb::commit);
    told.answered("COMMIT", idle);
    CHECK(told.names() == "a c ");
}

TEST_CASE("settings journal: a savepoint that it does not know is older than all it knows") {
    Told told;
    told.change("a");
    told.answered("SET", in_block);
    told.verb(TransactionVerb::savepoint, "s");
    told.answered("SAVEPOINT", in_block);
    told.verb(TransactionVerb::rollback_to, "older");
    told.answered("ROLLBACK", in_block);
    told.verb(TransactionVerb::commit);
    told.answered("COMMIT", idle);
    CHECK(told.names().empty());
}

TEST_CASE(
    "settings journal: a released savepoint undoes nothing, and the outer one all behind it") {
    Told told;
    told.change("a");
    told.verb(TransactionVerb::savepoint, "s");
    told.change("b");
    told.verb(TransactionVerb::savepoint, "t");
    told.change("c");
    told.verb(TransactionVerb::release, "T");
    told.answered("RELEASE", in_block);
    SECTION("the outer one is there") {
        told.verb(TransactionVerb::rollback_to, "S");
        told.answered("ROLLBACK", in_block);
        told.verb(TransactionVerb::commit);
        told.answered("COMMIT", idle);
        CHECK(told.names() == "a ");
    }
    SECTION("the inner one is not") {
        told.verb(TransactionVerb::rollback_to, "t");
        told.failed(failed);
        told.verb(TransactionVerb::rollback);
        told.answered("ROLLBACK", idle);
        CHECK(told.names().empty());
    }
}

TEST_CASE("settings journal: an end of a block that nobody announced is a doubt") {
    Told told;
    told.change("a");
    told.answered("SET", in_block);
    told.answered("ROLLBACK", in_block);
    CHECK(told.journal.in_doubt());
    told.journal.clear();
    CHECK(told.journal.empty());
}

TEST_CASE("settings journal: what the book can't hold does not fit") {
    Told told;
    for (std::size_t i = 0; i < SettingsBook::kNamesMax; ++i) told.change("n" + std::to_string(i));
    told.answered("SET", in_block);
    CHECK_FALSE(told.journal.fits(told.book, {set("one more")}));
    CHECK(told.journal.fits(told.book, {set("n1")}));
}

}  // namespace
}  // namespace pgb::test

#include "proxy/session/virtual_block.h"

#include <string>
#include <string_view>

#include "protocol/error_response.h"
#include "protocol/transaction_statement.h"
#include "tests/support/catch.h"

namespace pgb {

namespace {

using State = VirtualBlock::State;
using Outcome = VirtualBlock::Outcome;

// Replies as one line: `C BEGIN`, `I`, `N WARNING 25001 text`, `E ERROR 25P02 text`, each with
// ` | ` between.
std::string readable(std::string_view bytes) {
    std::string line;
    while (!bytes.empty()) {
        REQUIRE(bytes.size() >= 5);
        const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[3])) * 256 +
                            static_cast<unsigned char>(bytes[4]);
        const char type = bytes[0];
        const std::string_view body = bytes.substr(5, length - 4);
        bytes.remove_prefix(1 + length);
        if (!line.empty()) line += " | ";
        line += type;
        if (type == 'C') line += " " + std::string(body.substr(0, body.size() - 1));
        if (type != 'N' && type != 'E') continue;
        const auto fields = parse_error(body);
        REQUIRE(fields);
        line += " " + std::string(fields->severity_fixed) + " " + std::string(fields->sqlstate) +
                " " + std::string(fields->message);
    }
    return line;
}

const std::string kAborted =
    "E ERROR 25P02 current transaction is aborted, commands ignored until end of transaction "
    "block";
const std::string kNotInBlock = "N WARNING 25P01 there is no transaction in progress";
const std::string kInBlock = "N WARNING 25001 there is already a transaction in progress";

struct Block {
    VirtualBlock block;
    Outcome outcome = Outcome::needs_backend;
    VirtualBlock::Warnings warnings = VirtualBlock::Warnings::told;

    /// What the frontend reads; empty when the statement needs a backend.
    std::string run(const std::string& text) {
        const TransactionStatement statement = parse_transaction_statement(text);
        const bool local = block.is_local(statement, text);
        std::string out;
        outcome = block.execute(statement, text, warnings, out);
        CHECK(local == (outcome != Outcome::needs_backend));
        CHECK(out.empty() == (outcome == Outcome::needs_backend));
        return readable(out);
    }
    [[nodiscard]] State state() const { return block.state(); }
    [[nodiscard]] std::string begin_text() const { return block.modes().begin_text(); }
};

Block open_block(const std::string& begin = "BEGIN") {
    Block made;
    made.run(begin);
    REQUIRE(made.state() == State::open);
    return made;
}

Block failed_block(const std::string& begin = "BEGIN") {
    Block made = open_block(begin);
    made.block.fail();
    return made;
}

}  // namespace

TEST_CASE("virtual block: every form of BEGIN that drivers send opens it with its modes") {
    const struct {
        const char* text;
        const char* tag;
        const char* modes;
    } cases[] = {
        {"BEGIN", "C BEGIN", "BEGIN"},
        {"BEGIN;", "C BEGIN", "BEGIN"},
        {"begin ", "C BEGIN", "BEGIN"},
        {"/* tag='x' */ begin work -- done", "C BEGIN", "BEGIN"},
        {"begin isolation level serializable read only deferrable", "C BEGIN",
         "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE"},
        {"BEGIN READ ONLY", "C BEGIN", "BEGIN READ ONLY"},
        {"BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE", "C BEGIN",
         "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"},
        {"BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED", "C BEGIN",
         "BEGIN ISOLATION LEVEL READ COMMITTED"},
        {"START TRANSACTION", "C START TRANSACTION", "BEGIN"},
        {"START TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ ONLY, NOT DEFERRABLE",
         "C START TRANSACTION", "BEGIN ISOLATION LEVEL READ UNCOMMITTED READ ONLY NOT DEFERRABLE"},
    };
    for (const auto& [text, tag, modes] : cases) {
        INFO(text);
        Block made;
        CHECK(made.run(text) == tag);
        CHECK(made.outcome == Outcome::answered);
        CHECK(made.state() == State::open);
        CHECK(made.block.status() == TransactionStatus::in_block);
        CHECK(made.begin_text() == modes);
    }
}

TEST_CASE("virtual block: what is not surely BEGIN goes to the backend unchanged") {
    for (const char* text :
         {"BEGIN ISOLATION LEVEL CHAOS", "BEGIN; SELECT 1", "BEGIN READ", "BEGINS", "SELECT 1",
          "START", "SAVEPOINT a", "RELEASE a", "ROLLBACK TO a", "SET TRANSACTION READ ONLY",
          "PREPARE TRANSACTION 'x'", "COMMIT PREPARED 'x'", "ROLLBACK PREPARED 'x'"}) {
        INFO(text);
        Block made;
        CHECK(made.run(text).empty());
        CHECK(made.outcome == Outcome::needs_backend);
        CHECK(made.state() == State::none);
        CHECK(made.block.status() == TransactionStatus::idle);
    }
}

TEST_CASE("virtual block: COMMIT and ROLLBACK of nothing warn and answer their tag") {
    Block made;
    for (const char* text : {"COMMIT", "END", "commit work;"}) {
        CHECK(made.run(text) == kNotInBlock + " | C COMMIT");
        CHECK(made.outcome == Outcome::answered);
    }
    for (const char* text : {"ROLLBACK", "ABORT", "rollback transaction and no chain"}) {
        CHECK(made.run(text) == kNotInBlock + " | C ROLLBACK");
    }
    CHECK(made.state() == State::none);
}

TEST_CASE("virtual block: AND CHAIN outside a block is an error and opens nothing") {
    Block made;
    CHECK(made.run("COMMIT AND CHAIN") ==
          "E ERROR 25P01 COMMIT AND CHAIN can only be used in transaction blocks");
    CHECK(made.outcome == Outcome::refused);
    CHECK(made.run("ROLLBACK AND CHAIN") ==
          "E ERROR 25P01 ROLLBACK AND CHAIN can only be used in transaction blocks");
    CHECK(made.outcome == Outcome::refused);
    CHECK(made.state() == State::none);
}

TEST_CASE("virtual block: an open block that no statement used ends without a backend") {
    const struct {
        const char* text;
        const char* tag;
    } cases[] = {{"COMMIT", "C COMMIT"},
                 {"END", "C COMMIT"},
                 {"ROLLBACK", "C ROLLBACK"},
                 {"ABORT", "C ROLLBACK"}};
    for (const auto& [text, tag] : cases) {
        Block made = open_block("BEGIN READ ONLY");
        made.run("SAVEPOINT a");
        CHECK(made.run(text) == tag);
        CHECK(made.state() == State::none);
        CHECK(made.block.savepoints().empty());
        CHECK(made.block.modes() == TransactionModes{});
    }
}

TEST_CASE("virtual block: a second BEGIN warns, keeps the block and its modes hold") {
    Block made = open_block("BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE");
    CHECK(made.run("BEGIN") == kInBlock + " | C BEGIN");
    CHECK(made.begin_text() == "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE");
    CHECK(made.run("START TRANSACTION READ ONLY") == kInBlock + " | C START TRANSACTION");
    CHECK(made.begin_text() == "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY");
    CHECK(made.state() == State::open);
}

TEST_CASE("virtual block: AND CHAIN in an open block opens another with the same modes") {
    for (const char* text : {"COMMIT AND CHAIN", "END AND CHAIN"}) {
        Block made = open_block("BEGIN ISOLATION LEVEL SERIALIZABLE");
        made.run("SAVEPOINT a");
        CHECK(made.run(text) == "C COMMIT");
        CHECK(made.state() == State::open);
        CHECK(made.begin_text() == "BEGIN ISOLATION LEVEL SERIALIZABLE");
        CHECK(made.block.savepoints().empty());
    }
    Block made = open_block("BEGIN READ ONLY");
    CHECK(made.run("ROLLBACK AND CHAIN") == "C ROLLBACK");
    CHECK(made.state() == State::open);
    CHECK(made.begin_text() == "BEGIN READ ONLY");
}

TEST_CASE("virtual block: SET TRANSACTION is merged mode by mode, the last word holds") {
    Block made = open_block("BEGIN READ ONLY");
    CHECK(made.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE") == "C SET");
    CHECK(made.begin_text() == "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY");
    CHECK(made.run("set transaction deferrable") == "C SET");
    CHECK(made.run("SET TRANSACTION READ WRITE, NOT DEFERRABLE") == "C SET");
    CHECK(made.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;") == "C SET");
    CHECK(made.begin_text() == "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE NOT DEFERRABLE");
    CHECK(made.state() == State::open);
}

TEST_CASE("virtual block: SET TRANSACTION behind a savepoint needs the backend") {
    Block made = open_block();
    made.run("SAVEPOINT a");
    CHECK(made.run("SET TRANSACTION READ ONLY").empty());
    CHECK(made.outcome == Outcome::needs_backend);
    CHECK(made.begin_text() == "BEGIN");
    CHECK(made.block.savepoints().size() == 1);
}

TEST_CASE("virtual block: leading savepoints are kept as written, at most eight") {
    Block made = open_block();
    for (int i = 1; i <= 8; ++i) {
        const std::string text = "savepoint \"S" + std::to_string(i) + "\" ;";
        CHECK(made.run(text) == "C SAVEPOINT");
        CHECK(made.block.savepoints().back() == text);
    }
    CHECK(made.run("SAVEPOINT one_more").empty());
    CHECK(made.outcome == Outcome::needs_backend);
    CHECK(made.block.savepoints().size() == 8);
    CHECK(made.state() == State::open);
}

TEST_CASE("virtual block: the text of a kept savepoint is bounded") {
    const auto padded = [](std::size_t size) {
        std::string text = "SAVEPOINT a";
        return text.append(size - text.size(), ' ');
    };
    Block made = open_block();
    CHECK(made.run(padded(257)).empty());
    CHECK(made.outcome == Outcome::needs_backend);
    CHECK(made.run(padded(256)) == "C SAVEPOINT");
    CHECK(made.block.savepoints().size() == 1);
}

TEST_CASE("virtual block: any other statement in an open block needs the backend") {
    for (const char* text : {"SELECT 1", "RELEASE a", "ROLLBACK TO a", "PREPARE TRANSACTION 'x'",
                             "COMMIT PREPARED 'x'", "SET x = 1", "COMMIT; SELECT 1"}) {
        INFO(text);
        Block made = open_block();
        made.run("SAVEPOINT a");
        CHECK(made.run(text).empty());
        CHECK(made.state() == State::open);
        CHECK(made.block.savepoints().size() == 1);
    }
}

TEST_CASE("virtual block: a failed block refuses every statement but its end") {
    for (const char* text : {"SELECT 1", "BEGIN", "START TRANSACTION READ ONLY", "SAVEPOINT a",
                             "RELEASE a", "SET TRANSACTION READ ONLY", "COMMIT PREPARED 'x'",
                             "ROLLBACK PREPARED 'x'", "syntax error"}) {
        INFO(text);
        Block made = failed_block();
        CHECK(made.run(text) == kAborted);
        CHECK(made.outcome == Outcome::refused);
        CHECK(made.state() == State::failed);
        CHECK(made.block.status() == TransactionStatus::failed);
    }
}

TEST_CASE("virtual block: the end of a failed block is ROLLBACK whatever word was used") {
    for (const char* text :
         {"COMMIT", "END", "ROLLBACK", "ABORT", "commit /* c */ ;", "PREPARE TRANSACTION 'x'"}) {
        INFO(text);
        Block made = failed_block("BEGIN READ ONLY");
        CHECK(made.run(text) == "C ROLLBACK");
        CHECK(made.outcome == Outcome::answered);
        CHECK(made.state() == State::none);
        CHECK(made.block.modes() == TransactionModes{});
    }
}

TEST_CASE("virtual block: AND CHAIN turns a failed block into an open one with its modes") {
    for (const char* text : {"ROLLBACK AND CHAIN", "COMMIT AND CHAIN", "ABORT AND CHAIN"}) {
        INFO(text);
        Block made = failed_block("BEGIN ISOLATION LEVEL SERIALIZABLE");
        CHECK(made.run(text) == "C ROLLBACK");
        CHECK(made.state() == State::open);
        CHECK(made.begin_text() == "BEGIN ISOLATION LEVEL SERIALIZABLE");
    }
}

TEST_CASE("virtual block: ROLLBACK TO in a failed block finds no savepoint and stays failed") {
    const struct {
        const char* text;
        const char* name;
    } cases[] = {{"ROLLBACK TO Mixed", "mixed"},
                 {"rollback work to savepoint a", "a"},
                 {"ROLLBACK TO \"Mixed\"", "Mixed"},
                 {"ROLLBACK TO \"a\"\"b\"", "a\"b"}};
    Block made = open_block();
    made.run("SAVEPOINT a");
    made.block.fail();
    CHECK(made.block.savepoints().empty());
    for (const auto& [text, name] : cases) {
        INFO(text);
        CHECK(made.run(text) ==
              std::string("E ERROR 3B001 savepoint \"") + name + "\" does not exist");
        CHECK(made.outcome == Outcome::refused);
        CHECK(made.state() == State::failed);
    }
}

TEST_CASE("virtual block: an empty query is answered as one in every state") {
    for (const char* text : {"", ";", " ; ; ", "-- ping", "/* ping */"}) {
        INFO(text);
        Block none;
        CHECK(none.run(text) == "I");
        CHECK(none.outcome == Outcome::answered);
        CHECK(none.state() == State::none);
        Block open = open_block();
        CHECK(open.run(text) == "I");
        CHECK(open.state() == State::open);
        Block failed = failed_block();
        CHECK(failed.run(text) == "I");
        CHECK(failed.state() == State::failed);
    }
}

TEST_CASE("virtual block: leave forgets the block, its modes and its savepoints") {
    Block made = open_block("BEGIN READ ONLY");
    made.run("SAVEPOINT a");
    made.block.leave();
    CHECK(made.state() == State::none);
    CHECK(made.block.modes() == TransactionModes{});
    CHECK(made.block.savepoints().empty());
    CHECK(made.run("BEGIN") == "C BEGIN");
    CHECK(made.begin_text() == "BEGIN");
}

TEST_CASE("virtual block: a block that never got to be fails, and ends as any other") {
    Block made;
    made.block.fail();
    CHECK(made.block.status() == TransactionStatus::failed);
    CHECK(made.run("SELECT 1") == kAborted);
    CHECK(made.run("ROLLBACK") == "C ROLLBACK");
    CHECK(made.block.status() == TransactionStatus::idle);
}

}  // namespace pgb

#include "protocol/transaction_statement.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace pgb {

namespace {

using V = TransactionVerb;

V verb_of(std::string_view text) { return parse_transaction_statement(text).verb; }

// Writes the words of a statement as clients might: any case, any blanks and comments between.
class Scribe {
public:
    explicit Scribe(std::uint32_t seed) : random_(seed) {}

    std::string write(const std::string& statement) {
        std::string out = filler(false);
        for (std::size_t at = 0; at < statement.size(); ++at) {
            const char c = statement[at];
            if (c == '"' || c == '\'') {  // as written up to its end
                const std::size_t end = statement.find(c, at + 1);
                out += statement.substr(at, end + 1 - at);
                at = end;
            } else {
                out += c == ' ' ? filler(true) : std::string(1, random_case(c));
            }
        }
        out += filler(false);
        for (std::uint32_t i = pick(3); i > 0; --i) out += ";" + filler(false);
        return out;
    }

    std::uint32_t pick(std::uint32_t below) {
        return static_cast<std::uint32_t>(random_() % below);
    }

private:
    char random_case(char c) {
        const bool is_letter = c >= 'a' && c <= 'z';
        return is_letter && pick(2) == 0 ? static_cast<char>(c - 0x20) : c;
    }

    std::string filler(bool needed) {
        static constexpr std::string_view kFillers[] = {
            " ",           "\n",       "\t\r\f ",
            "/**/",        "/*a 'b*/", "/* /* ; */ */",
            "-- x; 'y'\n", "--\r",     "/*action='run%20it',key='v'*/"};
        std::string out;
        for (std::uint32_t i = pick(3) + (needed ? 1 : 0); i > 0; --i) {
            out += kFillers[pick(std::size(kFillers))];
        }
        return out;
    }

    std::mt19937 random_;
};

TransactionModes modes_of(std::string_view text) { return parse_transaction_statement(text).modes; }

}  // namespace

TEST_CASE("transaction_statement: each form of PostgreSQL's grammar has its verb") {
    const std::vector<std::pair<std::string, V>> rows = {
        {"begin", V::begin},
        {"begin work", V::begin},
        {"begin transaction read only", V::begin},
        {"begin isolation level read committed read write", V::begin},
        {"begin isolation level serializable , read only , deferrable", V::begin},
        {"begin isolation level repeatable read not deferrable", V::begin},
        {"start transaction", V::start_transaction},
        {"start transaction isolation level read uncommitted", V::start_transaction},
        {"commit", V::commit},
        {"commit work", V::commit},
        {"commit transaction and no chain", V::commit},
        {"commit and chain", V::commit_and_chain},
        {"end", V::end_},
        {"end work and no chain", V::end_},
        {"end and chain", V::commit_and_chain},
        {"rollback", V::rollback},
        {"rollback work and no chain", V::rollback},
        {"rollback transaction and chain", V::rollback_and_chain},
        {"abort", V::abort_},
        {"abort work", V::abort_},
        {"abort and chain", V::rollback_and_chain},
        {"savepoint a1", V::savepoint},
        {"savepoint \"A b\"", V::savepoint},
        {"savepoint savepoint", V::savepoint},
        {"savepoint work", V::savepoint},
        {"savepoint between", V::savepoint},
        {"release a1", V::release},
        {"release savepoint a1", V::release},
        {"release savepoint", V::release},
        {"release savepoint savepoint", V::release},
        {"rollback to a1", V::rollback_to},
        {"rollback to savepoint \"x\"", V::rollback_to},
        {"rollback work to a1", V::rollback_to},
        {"rollback transaction to savepoint savepoint", V::rollback_to},
        {"set transaction read only", V::set_transaction},
        {"set transaction isolation level serializable", V::set_transaction},
        {"prepare transaction 'gid 1'", V::prepare_transaction},
        {"commit prepared 'g'", V::commit_prepared},
        {"rollback prepared 'g'", V::rollback_prepared},
        {"", V::empty},
    };
    Scribe scribe(1);
    for (const auto& [statement, verb] : rows) {
        CHECK(verb_of(statement) == verb);
        for (int round = 0; round < 200; ++round) {
            const std::string text = scribe.write(statement);
            INFO(text);
            CHECK(verb_of(text) == verb);
            CHECK(verb_of(";" + text) == verb);
            CHECK(first_verb(text) == verb);
            // With a statement behind it it is no longer the only one, but the first one still.
            CHECK(verb_of(text + ";select 1") == V::none);
            CHECK(first_verb(text + ";select 1") == (verb == V::empty ? V::none : verb));
            CHECK(verb_of(text + " 1") == V::none);
        }
    }
}

TEST_CASE("transaction_statement: what is not surely one of the forms is none") {
    for (const std::string_view text : {"select 1",
                                        "insert into t values (1)",
                                        "beginning",
                                        "begin2",
                                        "begin$",
                                        "be gin",
                                        "begin,",
                                        "begin work work",
                                        "begin work transaction",
                                        "begin to",
                                        "begin read",
                                        "begin read only,",
                                        "begin , read only",
                                        "begin read only,, read write",
                                        "begin isolation level",
                                        "begin isolation level read",
                                        "begin isolation serializable",
                                        "begin not",
                                        "begin only",
                                        "begin isolation level snapshot",
                                        "begin; begin",
                                        "begin; select 1",
                                        "begin 'x'",
                                        "start",
                                        "start work",
                                        "start transaction work",
                                        "commit to x",
                                        "commit and",
                                        "commit no",
                                        "commit and no",
                                        "commit chain",
                                        "commit prepared",
                                        "commit prepared x",
                                        "commit prepared 'x",
                                        "commit prepared 'a' 'b'",
                                        "commit prepared e'x'",
                                        "commit prepared 'a\\b'",
                                        "commit prepared $$x$$",
                                        "end read only",
                                        "rollback to",
                                        "rollback to a b",
                                        "rollback to 'x'",
                                        "savepoint",
                                        "savepoint select",
                                        "savepoint user",
                                        "savepoint left",
                                        "savepoint 1a",
                                        "savepoint \"\"",
                                        "savepoint \"x",
                                        "savepoint u&\"x\"",
                                        "savepoint e'x'",
                                        "savepoint a.b",
                                        "savepoint a-b",
                                        "savepoint \xc3\xa9",
                                        "savepoint \"\xc3\xa9\"",
                                        "release",
                                        "release a b",
                                        "release savepoint a b",
                                        "set transaction",
                                        "set transaction snapshot 'x'",
                                        "set transaction = 1",
                                        "set local transaction read only",
                                        "set session transaction read only",
                                        "set x = 1",
                                        "set transaction to x",
                                        "prepare transaction",
                                        "prepare transaction x",
                                        "prepare transaction as select 1",
                                        "prepare x as select 1",
                                        "begin /* open",
                                        "/*",
                                        "-- x\nfoo",
                                        "begin\vwork",
                                        "\v",
                                        "begin atomic",
                                        "\"begin\"",
                                        "'begin'",
                                        "(begin)",
                                        "begin\xc2\xa0"}) {
        INFO(text);
        CHECK(verb_of(text) == V::none);
    }
}

TEST_CASE("transaction_statement: a name that PostgreSQL would cut is none") {
    CHECK(verb_of("savepoint " + std::string(63, 'n')) == V::savepoint);
    CHECK(verb_of("savepoint " + std::string(64, 'n')) == V::none);
    CHECK(verb_of("savepoint \"" + std::string(63, 'n') + "\"") == V::savepoint);
    CHECK(verb_of("savepoint \"" + std::string(64, 'n') + "\"") == V::none);
    CHECK(verb_of("savepoint " + std::string(100000, 'n')) == V::none);
}

TEST_CASE("transaction_statement: names are given as they were written") {
    CHECK(parse_transaction_statement("SAVEPOINT Sp1;").name == "Sp1");
    CHECK(parse_transaction_statement("rollback to savepoint \"S \"\"p\"").name == "\"S \"\"p\"");
    CHECK(parse_transaction_statement("release savepoint").name == "savepoint");
    CHECK(parse_transaction_statement("commit prepared 'it''s'").name == "'it''s'");
    CHECK(parse_transaction_statement("begin").name.empty());
}

TEST_CASE("transaction_statement: every combination of modes survives text and index") {
    for (std::uint8_t index = 0; index < TransactionModes::kCount; ++index) {
        const TransactionModes modes = TransactionModes::from_index(index);
        CHECK(modes.index() == index);
        const TransactionStatement statement = parse_transaction_statement(modes.begin_text());
        CHECK(statement.verb == V::begin);
        CHECK(statement.modes == modes);
    }
    CHECK(TransactionModes{}.begin_text() == "BEGIN");
    CHECK(TransactionModes{}.index() == 0);
}

TEST_CASE("transaction_statement: modes come in any order and the last of a kind holds") {
    const TransactionModes expected{IsolationLevel::serializable, Access::read_only,
                                    Deferrability::deferrable};
    CHECK(modes_of("begin deferrable read only isolation level serializable") == expected);
    CHECK(modes_of("start transaction read write, deferrable, isolation level read committed "
                   "isolation level serializable, read only") == expected);
    CHECK(modes_of("set transaction not deferrable read only isolation level serializable "
                   "deferrable") == expected);
}

TEST_CASE("transaction_statement: every mode list the grammar can make is read as written") {
    static constexpr std::string_view kModes[] = {"isolation level read uncommitted",
                                                  "isolation level read committed",
                                                  "isolation level repeatable read",
                                                  "isolation level serializable",
                                                  "read only",
                                                  "read write",
                                                  "deferrable",
                                                  "not deferrable"};
    Scribe scribe(2);
    for (int round = 0; round < 2000; ++round) {
        std::string statement = "begin";
        TransactionModes expected;
        for (std::uint32_t i = 0, count = scribe.pick(5); i < count; ++i) {
            const std::uint32_t mode = scribe.pick(std::size(kModes));
            statement += (i > 0 && scribe.pick(2) == 0 ? " , " : " ") + std::string(kModes[mode]);
            if (mode < 4) {
                expected.isolation = static_cast<IsolationLevel>(mode + 1);
            } else if (mode < 6) {
                expected.access = static_cast<Access>(mode - 3);
            } else {
                expected.deferrability = static_cast<Deferrability>(mode - 5);
            }
        }
        const std::string text = scribe.write(statement);
        INFO(text);
        CHECK(verb_of(text) == V::begin);
        CHECK(modes_of(text) == expected);
    }
}

TEST_CASE("transaction_statement: no beginning of a text is read past its end") {
    const std::string text = "/*a*/ begin isolation level serializable , read only ; -- b";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        const std::string beginning = text.substr(0, cut);  // a buffer of its own for the sanitizer
        const V verb = verb_of(beginning);
        CHECK((verb == V::none || verb == V::begin || verb == V::empty));
    }
}

TEST_CASE("transaction_statement: comments and blanks alone are an empty query") {
    for (const std::string_view text :
         {"", " ", ";", "-- ping", "/* ping */", " ;\n; -- x\n;;", "/*/* */*/", "--"}) {
        CHECK(verb_of(text) == V::empty);
        CHECK(first_verb(text) == V::empty);
    }
}

TEST_CASE("transaction_statement: tags are PostgreSQL's") {
    CHECK(command_tag(V::begin) == "BEGIN");
    CHECK(command_tag(V::start_transaction) == "START TRANSACTION");
    CHECK(command_tag(V::end_) == "COMMIT");
    CHECK(command_tag(V::abort_) == "ROLLBACK");
    CHECK(command_tag(V::rollback_to) == "ROLLBACK");
    CHECK(command_tag(V::set_transaction) == "SET");
    CHECK(command_tag(V::none).empty());
    CHECK(command_tag(V::empty).empty());
}

TEST_CASE("may_commit: a statement that begins with COMMIT, END or PREPARE TRANSACTION") {
    for (const std::string_view text :
         {"commit",
          "/* x */ COMMIT;",
          "end",
          "commit and chain",
          "commit prepared 'x'",
          "prepare transaction 'x'",
          "select 1; commit",
          ";;end",
          "select ';' ; commit",
          "select $$;$$; commit",
          "select $a$ $$ ; $a$; commit",
          "select 1 -- ;\n; commit",
          "select \"a;\"; commit",
          "select a$b$; commit",
          "select $1; commit;",
          "select 1/2;commit",
          "insert into t values ('it''s'); prepare /**/ transaction 'x'",
          "select '';commit",
          "select e'a\\'; commit; --'",
          "select 'a\\'; commit; --'",
          "select '\\', ';', 'commit'",
          "select $1$$;$$;commit",
          "select \"\"\"\";commit",
          "select 1 /* /* */ ; */ ; commit"}) {
        INFO(text);
        CHECK(may_commit(text));
    }
}

TEST_CASE("may_commit: the words elsewhere are no commit") {
    for (const std::string_view text : {"",
                                        ";",
                                        "select 1",
                                        "begin; select 1; rollback",
                                        "select 'a; commit'",
                                        "select $$a; commit; $$",
                                        "select $tag$; commit; $$ $tag$",
                                        "select 1 -- ; commit",
                                        "select 1 /* ; commit /* */ ; commit */",
                                        "select \"a; commit\"",
                                        "prepare x as select 1",
                                        "prepare transaction_log as select 1",
                                        "select case when true then 1 end; select 2",
                                        "insert into commits values ('x;commit')",
                                        "committed",
                                        "endless; ending",
                                        "select 'a\\b'",
                                        "select e'\\'commit'",
                                        "update t set x = 'a\\b'; select 1",
                                        "rollback prepared 'x'",
                                        "select 'it''s; commit'",
                                        "select '; commit"}) {
        INFO(text);
        CHECK_FALSE(may_commit(text));
    }
}

TEST_CASE("first_verb: the first statement decides, whatever follows") {
    CHECK(first_verb("BEGIN; insert into t values (1); COMMIT") == V::begin);
    CHECK(first_verb("/* x */ ; begin read only; garbage '") == V::begin);
    CHECK(first_verb("insert into t values (1); begin") == V::none);
    CHECK(first_verb("begin garbage; commit") == V::none);
    CHECK(first_verb("commit; begin") == V::commit);
}

}  // namespace pgb

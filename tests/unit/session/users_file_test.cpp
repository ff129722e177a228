#include "proxy/session/users_file.h"

#include <string>

#include "tests/support/catch.h"

namespace pgb {

namespace {

// The text lives as long as what is parsed of it.
struct Parsed {
    explicit Parsed(std::string given) : text(std::move(given)), users(parse_users(text)) {}

    [[nodiscard]] std::string faults() const {
        std::string all;
        for (const LineFault& fault : users.faults) {
            all += std::to_string(fault.line) + ':' + std::to_string(fault.column) + ": " +
                   fault.text + '\n';
        }
        return all;
    }

    std::string text;
    UsersText users;
};

std::string fault_of(std::string text) { return Parsed(std::move(text)).faults(); }

}  // namespace

TEST_CASE("users file: names, passwords and verifiers are read as PgBouncer's userlist has them") {
    const std::string verifier = format_scram_verifier(derive_scram_verifier("x", "salt", 3));
    const Parsed parsed(
        "; a comment\n\"app\" \"secret\"\r\n\n  # another\n\t\"a\"\"b\"  \"c\"\"\"\"d\" \n\"v\" "
        "\"" +
        verifier + "\"\n\"none\" \"\"");
    REQUIRE(parsed.faults().empty());
    const auto& entries = parsed.users.entries;
    REQUIRE(entries.size() == 4);
    CHECK(entries[0].name == "app");
    CHECK(entries[0].password == "secret");
    CHECK(entries[0].line == 2);
    CHECK(entries[1].name == "a\"b");
    CHECK(entries[1].password == "c\"\"d");
    CHECK(entries[2].verifier == derive_scram_verifier("x", "salt", 3));
    CHECK(entries[2].password.empty());
    CHECK(entries[3].password.empty());
    CHECK_FALSE(entries[3].verifier);
}

TEST_CASE("users file: what can't be read is told with its place, and without the secret") {
    CHECK(fault_of("x") == "1:1: a user's name in double quotes must stand here\n");
    CHECK(fault_of("\n \"a") == "2:2: the quote is not closed on this line\n");
    CHECK(fault_of("\"a\"\"b\"") == "1:7: a blank must follow\n");
    CHECK(fault_of("\"a\" b") ==
          "1:5: a password or a SCRAM verifier in double quotes must stand here\n");
    CHECK(fault_of("\"a\" \"b\" \"c\"") == "1:9: nothing more may stand on this line\n");
    CHECK(fault_of("\"\" \"b\"") == "1:1: a user's name has 1 to 63 bytes\n");
    CHECK(fault_of("\"" + std::string(64, 'u') + "\" \"b\"") ==
          "1:1: a user's name has 1 to 63 bytes\n");
    CHECK(fault_of("\"a\" \"b\"\n\"a\" \"c\"") == "2:1: this user stands on line 1 too\n");
    CHECK(fault_of("\"a\" \"md5" + std::string(32, 'a') + "\"") ==
          "1:5: MD5 hashes are not taken\n");
    CHECK(fault_of("\"a\" \"SCRAM-SHA-256$4096:secret\"") ==
          "1:5: this is no whole SCRAM verifier\n");
    CHECK(fault_of("\"a\" \"md5" + std::string(32, 'a') + "\"\nx") ==
          "1:5: MD5 hashes are not taken\n"
          "2:1: a user's name in double quotes must stand here\n");
    CHECK(fault_of("x\ny\n") ==
          "1:1: a user's name in double quotes must stand here\n"
          "2:1: a user's name in double quotes must stand here\n");
    CHECK(fault_of(std::string("\"a\" \"b\0c\"", 9)) == "1:5: no zero byte may stand here\n");
}

TEST_CASE("users file: under every cut it is read or refused within its text") {
    const std::string whole = "\"a\"\"\" \"b\"\"c\"\n\"d\" \"e\"\n";
    for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
        CAPTURE(cut);
        const Parsed parsed(whole.substr(0, cut));
        CHECK(parsed.users.entries.size() + parsed.users.faults.size() <= 2);
    }
}

}  // namespace pgb

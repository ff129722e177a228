#include "proxy/io/server_words.h"

#include "tests/support/catch.h"

using namespace pgb;

TEST_CASE("server words: code, message, detail and hint are told apart") {
    const ServerWords words = read_server_words(
        "connection to server at \"127.0.0.1\", port 5432 failed: FATAL:  53300: too many things\n"
        "DETAIL:  a detail\nHINT:  a hint\nLOCATION:  f, file.c:1\n");
    CHECK(words.sqlstate == "53300");
    CHECK(words.message == "too many things");
    CHECK(words.detail == "a detail");
    CHECK(words.hint == "a hint");
}

TEST_CASE("server words: what is not the server's has no code") {
    const ServerWords words = read_server_words(
        "connection to server on socket \"/tmp/.s.PGSQL.1\" failed: No such file or directory\n"
        "\tIs the server running locally and accepting connections on that socket?\n");
    CHECK(words.sqlstate.empty());
    CHECK(words.message.find("No such file") != std::string::npos);
    CHECK(read_server_words("").message.empty());
    CHECK(read_server_words("x:  1234: y").sqlstate.empty());
    CHECK(read_server_words("x:  12a45: y").sqlstate.empty());
    CHECK(read_server_words("x:  12345").sqlstate.empty());
}

TEST_CASE("server words: a translated severity does not hide the code") {
    CHECK(read_server_words("... failed: FATALE:  28P01: parola errata\n").sqlstate == "28P01");
}

TEST_CASE("server words: a name with a line break can't forge the code") {
    const ServerWords words = read_server_words(
        "connection to server at \"h\", port 1 failed: FATAL:  28000: role \"x\n"
        "FATAL:  57P03: y\" does not exist\nLOCATION:  f, file.c:1\n");
    CHECK(words.sqlstate == "28000");
    CHECK(words.message == "role \"x FATAL:  57P03: y\" does not exist");
}

TEST_CASE("server words: of several hosts the last one that refused counts") {
    const std::string first =
        "connection to server at \"a\", port 1 failed: FATAL:  57P03: starting up\n"
        "LOCATION:  f, file.c:1\n";
    const std::string second =
        "connection to server at \"b\", port 1 failed: FATAL:  28P01: no\nLOCATION:  f, file.c:1\n";
    const std::string third = "connection to server at \"c\", port 1 failed: Connection refused\n";
    CHECK(read_server_words(first + second).sqlstate == "28P01");
    CHECK(read_server_words(first + third).sqlstate == "57P03");
}

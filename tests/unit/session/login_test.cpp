#include "proxy/session/login.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/error_response.h"
#include "protocol/writer.h"
#include "tests/support/catch.h"
#include "tests/unit/protocol/message_bytes.h"

namespace pgb {

namespace {

constexpr std::uint32_t kVersion30 = 3 << 16;
constexpr std::uint32_t kSslRequest = 80877103;
constexpr std::uint32_t kGssencRequest = 80877104;
constexpr std::uint32_t kCancelRequest = 80877102;

std::string packet(std::uint32_t code, std::string_view body) {
    std::string out;
    MessageWriter(out).u32(static_cast<std::uint32_t>(8 + body.size())).u32(code).bytes(body);
    return out;
}

std::string startup(std::string_view body, std::uint16_t minor = 0) {
    return packet(kVersion30 | minor, body);
}

const std::string kSsl = packet(kSslRequest, "");
const std::string kGssenc = packet(kGssencRequest, "");

/// A connection that keeps what the login did not consume, as its owner must.
struct Connection {
    Login login;
    std::string input;
    std::string reply;
    LoginStep step = LoginStep::need_more;

    LoginStep read(std::string_view bytes) {
        input += bytes;
        std::size_t consumed = 0;
        step = login.on_bytes(input, consumed, reply);
        REQUIRE(consumed <= input.size());
        input.erase(0, consumed);
        return step;
    }
};

/// "CODE message" of the one FATAL that `bytes` are.
std::string fatal_of(std::string_view bytes) {
    REQUIRE(bytes.size() > 5);
    REQUIRE(bytes[0] == 'E');
    const auto fields = parse_error(bytes.substr(5));
    REQUIRE(fields);
    CHECK(is_fatal(*fields));
    return std::string(fields->sqlstate) + " " + std::string(fields->message);
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("login: a request for encryption is answered by N and the startup packet follows") {
    for (const std::string& request : {kSsl, kGssenc}) {
        Connection client;
        CHECK(client.read(request) == LoginStep::need_more);
        CHECK(client.reply == "N");
        CHECK(client.input.empty());
        CHECK(client.read(startup("user\0bob\0\0"_bytes)) == LoginStep::startup);
        CHECK(client.reply == "N");
        CHECK(client.login.request().user == "bob");
    }
}

TEST_CASE("login: SSL and GSSAPI encryption may each be asked for once, in either order") {
    for (const bool ssl_first : {true, false}) {
        Connection client;
        CHECK(client.read(ssl_first ? kSsl : kGssenc) == LoginStep::need_more);
        CHECK(client.read(ssl_first ? kGssenc : kSsl) == LoginStep::need_more);
        CHECK(client.reply == "NN");
        CHECK(client.read(startup("user\0bob\0\0"_bytes)) == LoginStep::startup);
    }
}

TEST_CASE("login: a second request for the same encryption is an unsupported version") {
    const std::pair<std::string, std::string> cases[] = {{kSsl, "1234.5679"},
                                                         {kGssenc, "1234.5680"}};
    for (const auto& [request, version] : cases) {
        Connection client;
        client.read(request);
        CHECK(client.read(request) == LoginStep::refused);
        REQUIRE(client.reply[0] == 'N');
        CHECK(fatal_of(std::string_view(client.reply).substr(1)) ==
              "0A000 unsupported frontend protocol " + version + ": server supports 3.0 to 3.2");
    }
}

TEST_CASE("login: bytes stuffed behind a request for encryption are never read as a login") {
    const std::string login = startup("user\0bob\0\0"_bytes);
    const std::pair<std::string, std::string> cases[] = {
        {kSsl, "08P01 received unencrypted data after SSL request"},
        {kGssenc, "08P01 received unencrypted data after GSSAPI encryption request"}};
    for (const auto& [request, words] : cases) {
        for (const std::string& stuffed : {std::string("x"), login, kSsl, kGssenc}) {
            Connection client;
            CHECK(client.read(request + stuffed) == LoginStep::refused);
            REQUIRE(client.reply[0] == 'N');
            CHECK(fatal_of(std::string_view(client.reply).substr(1)) == words);
            CHECK(client.login.request().user.empty());
        }
    }
}

TEST_CASE("login: a cancel packet is read and never answered") {
    for (const std::string& key : {std::string("\0\1\2\xff", 4), std::string(256, 'k')}) {
        Connection client;
        CHECK(client.read(packet(kCancelRequest, "\x80\0\0\7"_bytes + key)) == LoginStep::cancel);
        CHECK(client.login.cancel_pid() == -2147483641);
        CHECK(client.login.cancel_key() == key);
        CHECK(client.reply.empty());
        CHECK(client.input.empty());
    }
}

TEST_CASE("login: a cancel packet may follow a refused request for encryption") {
    Connection client;
    client.read(kSsl);
    CHECK(client.read(packet(kCancelRequest, "\0\0\0\7abcd"_bytes)) == LoginStep::cancel);
    CHECK(client.login.cancel_pid() == 7);
    CHECK(client.reply == "N");
}

TEST_CASE("login: packets cut at every byte are read as if they came whole") {
    const std::string login = startup("user\0bob\0database\0shop\0a\0b\0\0"_bytes);
    const std::string cancel = packet(kCancelRequest, "\0\0\0\7abcd"_bytes);
    for (std::size_t cut = 1; cut < login.size(); ++cut) {
        INFO(cut);
        Connection client;
        CHECK(client.read(login.substr(0, cut)) == LoginStep::need_more);
        CHECK(client.input.size() == cut);
        CHECK(client.read(login.substr(cut)) == LoginStep::startup);
        CHECK(client.input.empty());
        CHECK(client.reply.empty());
        CHECK(client.login.request().database == "shop");
        CHECK(client.login.request().parameters == Parameters{{"a", "b"}});
    }
    for (std::size_t cut = 1; cut < cancel.size(); ++cut) {
        Connection client;
        CHECK(client.read(cancel.substr(0, cut)) == LoginStep::need_more);
        CHECK(client.read(cancel.substr(cut)) == LoginStep::cancel);
    }
    for (std::size_t cut = 1; cut < kSsl.size(); ++cut) {
        Connection client;
        CHECK(client.read(kSsl.substr(0, cut)) == LoginStep::need_more);
        CHECK(client.reply.empty());
        client.read(kSsl.substr(cut));
        CHECK(client.reply == "N");
    }
}

TEST_CASE("login: a whole conversation byte by byte has the same answers") {
    Connection client;
    const std::string login = startup("user\0bob\0_pq_.x\0y\0\0"_bytes, 9);
    std::string whole;
    for (const std::string& bytes : {kGssenc, kSsl, login}) {
        for (const char byte : bytes) {
            CHECK(client.step == LoginStep::need_more);
            client.read(std::string(1, byte));
        }
        whole = client.reply.substr(0, 2);
    }
    CHECK(client.step == LoginStep::startup);
    CHECK(whole == "NN");
    CHECK(client.reply == "NN" + message('v', "\0\3\0\2\0\0\0\1_pq_.x\0"_bytes));
}

TEST_CASE("login: what follows the startup packet is left to the caller") {
    Connection client;
    CHECK(client.read(startup("user\0bob\0\0"_bytes) + "p...") == LoginStep::startup);
    CHECK(client.input == "p...");
}

TEST_CASE("login: newer minor versions and protocol options are negotiated before anything else") {
    const struct {
        std::uint16_t asked;
        std::uint16_t spoken;
        bool negotiated;
    } cases[] = {{0, 0, false}, {1, 1, false}, {2, 2, false}, {3, 2, true}, {9999, 2, true}};
    for (const auto& [asked, spoken, negotiated] : cases) {
        INFO(asked);
        Connection client;
        CHECK(client.read(startup("user\0bob\0\0"_bytes, asked)) == LoginStep::startup);
        CHECK(client.login.request().protocol_minor == spoken);
        CHECK(client.reply == (negotiated ? message('v', "\0\3\0\2\0\0\0\0"_bytes) : ""));
    }
    Connection client;
    CHECK(client.read(startup("user\0bob\0_pq_.b\0"
                              "1\0_pq_.a\0\0\0"_bytes)) == LoginStep::startup);
    CHECK(client.reply == message('v', "\0\3\0\0\0\0\0\2_pq_.b\0_pq_.a\0"_bytes));
    CHECK(client.login.request().parameters.empty());
    CHECK(client.login.request().protocol_minor == 0);
}

TEST_CASE("login: a missing or empty user is refused, after the negotiation") {
    for (const std::string& body : {"\0"_bytes, "user\0\0\0"_bytes, "database\0shop\0\0"_bytes}) {
        Connection client;
        CHECK(client.read(startup(body)) == LoginStep::refused);
        CHECK(fatal_of(client.reply) ==
              "28000 no PostgreSQL user name specified in startup packet");
    }
    Connection client;
    CHECK(client.read(startup("\0"_bytes, 3)) == LoginStep::refused);
    const std::string negotiation = message('v', "\0\3\0\2\0\0\0\0"_bytes);
    REQUIRE(client.reply.substr(0, negotiation.size()) == negotiation);
    CHECK(fatal_of(std::string_view(client.reply).substr(negotiation.size())) ==
          "28000 no PostgreSQL user name specified in startup packet");
}

TEST_CASE("login: replication connections are refused with a clear error") {
    for (const char* value : {"true", "database", "on", "yes", "1", "t", "y"}) {
        INFO(value);
        Connection client;
        CHECK(client.read(startup("user\0bob\0replication\0"_bytes + value + "\0\0"_bytes)) ==
              LoginStep::refused);
        CHECK(fatal_of(client.reply) ==
              "0A000 replication connections are not served here; connect to PostgreSQL itself");
    }
}

TEST_CASE("login: replication that is switched off is an ordinary login and no parameter") {
    for (const char* value : {"false", "off", "no", "0", "f", "n"}) {
        INFO(value);
        Connection client;
        CHECK(client.read(startup("user\0bob\0replication\0"_bytes + value + "\0\0"_bytes)) ==
              LoginStep::startup);
        CHECK(client.reply.empty());
        CHECK(client.login.request().parameters.empty());
    }
}

TEST_CASE("login: the database defaults to the user's name") {
    for (const std::string& body : {"user\0bob\0\0"_bytes, "database\0\0user\0bob\0\0"_bytes}) {
        Connection client;
        CHECK(client.read(startup(body)) == LoginStep::startup);
        CHECK(client.login.request().database == "bob");
    }
    Connection client;
    client.read(startup("database\0shop\0user\0bob\0\0"_bytes));
    CHECK(client.login.request().database == "shop");
}

TEST_CASE("login: of a parameter sent twice the last value counts") {
    Connection client;
    CHECK(client.read(startup("user\0eve\0DateStyle\0ISO\0database\0one\0user\0bob\0"
                              "DateStyle\0SQL\0database\0two\0application_name\0x\0"
                              "application_name\0y\0\0"_bytes)) == LoginStep::startup);
    const LoginRequest& request = client.login.request();
    CHECK(request.user == "bob");
    CHECK(request.database == "two");
    CHECK(request.application_name == "y");
    REQUIRE_FALSE(request.parameters.empty());
    CHECK(request.parameters.front() == Parameters::value_type("DateStyle", "SQL"));
}

TEST_CASE("login: the other parameters are kept, sorted by name, however they were ordered") {
    const Parameters sorted = {{"TimeZone", "UTC"},
                               {"client_encoding", "UTF8"},
                               {"extra_float_digits", ""},
                               {"options", "-c geqo=off"}};
    for (const std::string& body :
         {"options\0-c geqo=off\0extra_float_digits\0\0user\0bob\0client_encoding\0UTF8\0"
          "TimeZone\0UTC\0\0"_bytes,
          "TimeZone\0UTC\0client_encoding\0UTF8\0user\0bob\0options\0-c geqo=off\0"
          "extra_float_digits\0\0database\0shop\0\0"_bytes}) {
        Connection client;
        CHECK(client.read(startup(body)) == LoginStep::startup);
        CHECK(client.login.request().parameters == sorted);
    }
}

TEST_CASE("login: what was read is owned and outlives the packet") {
    Login login;
    std::string reply;
    {
        std::string bytes = startup("user\0bob\0a\0b\0\0"_bytes);
        std::size_t consumed = 0;
        CHECK(login.on_bytes(bytes, consumed, reply) == LoginStep::startup);
        CHECK(consumed == bytes.size());
        bytes.assign(bytes.size(), '!');
    }
    CHECK(login.request().user == "bob");
    CHECK(login.request().parameters == Parameters{{"a", "b"}});
}

TEST_CASE("login: impossible lengths are closed without a word, broken layouts with one") {
    for (const std::string& bytes : {"\0\0\0\7"_bytes, "\0\1\0\0"_bytes, "\xff\xff\xff\xff"_bytes,
                                     packet(kCancelRequest, "\0\0\0\7abc"_bytes)}) {
        Connection client;
        CHECK(client.read(bytes) == LoginStep::refused);
        CHECK(client.reply.empty());
    }
    Connection client;
    CHECK(client.read(startup("user\0bob"_bytes)) == LoginStep::refused);
    CHECK(fatal_of(client.reply).substr(0, 5) == "08P01");
    Connection other;
    CHECK(other.read(packet(4 << 16, "\0"_bytes)) == LoginStep::refused);
    CHECK(fatal_of(other.reply) ==
          "0A000 unsupported frontend protocol 4.0: server supports 3.0 to 3.2");
}

TEST_CASE("login: the greeting is AuthenticationOk, the parameters, the key and ReadyForQuery") {
    std::string out;
    append_greeting(out, {{"server_version", "15.20"}, {"DateStyle", "ISO, MDY"}}, 7, "abcd");
    CHECK(out == message('R', "\0\0\0\0"_bytes) +
                     message('S',
                             "server_version\0"
                             "15.20\0"_bytes) +
                     message('S', "DateStyle\0ISO, MDY\0"_bytes) +
                     message('K', "\0\0\0\7abcd"_bytes) + message('Z', "I"));
    std::string bare;
    append_greeting(bare, {}, -1, std::string(32, 'k'));
    CHECK(bare == message('R', "\0\0\0\0"_bytes) +
                      message('K', "\xff\xff\xff\xff"_bytes + std::string(32, 'k')) +
                      message('Z', "I"));
}

TEST_CASE("login: a last word is FATAL with its detail and hint, which may be missing") {
    std::string bytes;
    append_fatal(bytes, "53300", "too many connections", "250 of 250", "wait");
    CHECK(fatal_of(bytes) == "53300 too many connections");
    auto fields = parse_error(std::string_view(bytes).substr(5));
    CHECK(fields->detail == "250 of 250");
    CHECK(fields->hint == "wait");
    bytes.clear();
    append_fatal(bytes, "57P01", "going");
    fields = parse_error(std::string_view(bytes).substr(5));
    CHECK(fields->detail.empty());
    CHECK(fields->hint.empty());
}

}  // namespace pgb

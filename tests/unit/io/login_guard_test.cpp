#include "proxy/io/login_guard.h"

#include <string>

#include "protocol/writer.h"
#include "tests/support/catch.h"

using namespace pgb;

namespace {

std::string scram(const std::string& text, std::uint32_t code = 11, char type = 'R') {
    std::string message;
    MessageWriter(message).begin(type).u32(code).bytes(text).end();
    return message;
}

}  // namespace

TEST_CASE("login guard: ordinary rounds pass, and more than the bound do not") {
    CHECK(judge_login_bytes(scram("r=abc,s=c2FsdA==,i=4096")) == LoginBytes::fine);
    CHECK(judge_login_bytes(scram("r=abc,s=c2FsdA==,i=1000000")) == LoginBytes::fine);
    for (const char* rounds : {"1000001", "2000000000", "99999999999999999999999999"}) {
        const std::string text = std::string("r=abc,s=c2FsdA==,i=") + rounds;
        CHECK(judge_login_bytes(scram(text)) == LoginBytes::too_dear);
        // Whatever stands in front of it.
        CHECK(judge_login_bytes(scram("x", 10) + scram(text)) == LoginBytes::too_dear);
    }
}

TEST_CASE("login guard: other messages may hold any number") {
    CHECK(judge_login_bytes(scram(",i=2000000000", 12)) == LoginBytes::fine);
    CHECK(judge_login_bytes(scram(",i=2000000000", 11, 'S')) == LoginBytes::fine);
    CHECK(judge_login_bytes(scram("")) == LoginBytes::fine);
    CHECK(judge_login_bytes(scram("r=abc,s=c2FsdA==")) == LoginBytes::fine);
    CHECK(judge_login_bytes(scram("r=abc,s=c2FsdA==,i=-1")) == LoginBytes::fine);
}

TEST_CASE("login guard: what is not whole is waited for, cut wherever it is") {
    const std::string whole = scram("x", 10) + scram("r=abc,s=c2FsdA==,i=2000000000");
    const std::size_t first = scram("x", 10).size();
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        INFO(cut);
        CHECK(judge_login_bytes(std::string_view(whole).substr(0, cut)) ==
              (cut == first ? LoginBytes::fine : LoginBytes::incomplete));
    }
}

TEST_CASE("login guard: impossible lengths are left to libpq") {
    CHECK(judge_login_bytes(std::string("R\0\0\0\3", 5)) == LoginBytes::fine);
    CHECK(judge_login_bytes(std::string("R\x7f\xff\xff\xff", 5)) == LoginBytes::fine);
    CHECK(judge_login_bytes("") == LoginBytes::fine);
}

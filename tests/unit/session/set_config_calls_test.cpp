#include "proxy/session/set_config_calls.h"

#include "proxy/session/state_tracking.h"
#include "tests/support/catch.h"

namespace pgb::test {

namespace {

struct Value {
    std::string bytes;
    bool is_null = false;
};

std::string u16(std::size_t number) {
    return {static_cast<char>(number >> 8 & 0xff), static_cast<char>(number & 0xff)};
}
std::string u32(std::size_t number) { return u16(number >> 16) + u16(number & 0xffff); }

// The body of a Bind of the unnamed statement.
std::string bind_body(const std::vector<Value>& values, const std::vector<int>& formats = {}) {
    std::string body(2, '\0');
    body += u16(formats.size());
    for (const int format : formats) body += u16(static_cast<std::size_t>(format));
    body += u16(values.size());
    for (const Value& value : values) {
        body += value.is_null ? u32(0xffffffff) : u32(value.bytes.size()) + value.bytes;
    }
    return body + u16(0);
}

// What the execution sets, or what keeps it from being followed.
std::string bound(std::string_view text, const std::string& body, std::string_view types = {},
                  bool utf8 = true) {
    StateTracking tracking;
    const TextEffect effect = tracking.effect_of(text, true);
    if (!effect.sets_when_bound) return effect.pins ? "pins" : "nothing to bind";
    CHECK_FALSE(effect.pins);
    SetConfigCalls calls = tracking.calls_of(text);
    calls.declare(types);
    const auto changes = calls.bind(body, utf8);
    if (!changes) return "unknown";
    std::string all;
    for (const SettingChange& change : *changes) all += change.name + ": " + change.text + ";";
    return all;
}

constexpr const char* kAll = "select set_config($1, $2, $3)";
constexpr const char* kSet = "a.b: SELECT pg_catalog.set_config('a.b', 'x', false);";

}  // namespace

TEST_CASE("set_config: parameters become the literals of a statement that says the same") {
    CHECK(bound(kAll, bind_body({{"A.b"}, {"x"}, {"false"}})) == kSet);
    CHECK(bound("select set_config('a.b', $1, false)", bind_body({{"x"}})) == kSet);
    CHECK(bound("select set_config($1::text, $2::varchar, $3::bool)",
                bind_body({{"a.b"}, {"x"}, {"F"}})) == kSet);
    CHECK(bound("select pg_catalog.set_config($2, $1, 'false'::bool)",
                bind_body({{"x"}, {"a.b"}})) == "pins");
    CHECK(bound("select set_config('c', 'd', false), set_config('a.b', $1, false)",
                bind_body({{"it's \\"}})) ==
          "c: SELECT pg_catalog.set_config('c', 'd', false);"
          "a.b: SELECT pg_catalog.set_config('a.b', E'it''s \\\\', false);");
}

TEST_CASE("set_config: text is read in both formats, and so is the third argument") {
    const std::string no(1, '\0');
    CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}, {no}}, {1})) == kSet);
    CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}, {no}}, {0, 1, 1})) == kSet);
    CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}, {"\x01"}}, {1})).empty());
    for (const char* word : {"true", "T", "on", "1"}) {
        CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}, {word}})).empty());
    }
}

TEST_CASE("set_config: what can't be read for sure is not followed") {
    CHECK(bound(kAll, bind_body({{"a.b"}, {"", true}, {"off"}})) == "unknown");
    CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}, {"", true}})) == "unknown");
    CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}, {" f"}})) == "unknown");
    CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}})) == "unknown");
    CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}, {"f"}}, {0, 0})) == "unknown");
    CHECK(bound(kAll, bind_body({{"a.b"}, {"x"}, {"f"}}, {2})) == "unknown");
    CHECK(bound(kAll, bind_body({{"seed"}, {"0.5"}, {"f"}})) == "unknown");
    CHECK(bound(kAll, bind_body({{"a.b"}, {std::string(1, '\0')}, {"f"}})) == "unknown");
    const std::string body = bind_body({{"a.b"}, {"gr\xc3\xb6\xc3\x9f"}, {"f"}});
    CHECK(bound(kAll, body, {}, false) == "unknown");
    CHECK(bound(kAll, body, {}, true).starts_with("a.b: "));
}

TEST_CASE("set_config: a parameter of another type is not what it looks like") {
    const std::string body = bind_body({{"a.b"}, {"x"}, {"f"}});
    CHECK(bound(kAll, body, u32(25) + u32(1043) + u32(16)) == kSet);
    CHECK(bound(kAll, body, u32(705)) == kSet);
    CHECK(bound(kAll, body, u32(0) + u32(23)) == "unknown");
    CHECK(bound(kAll, body, u32(25) + u32(1042)) == "unknown");
    CHECK(bound(kAll, body, u32(25) + u32(25) + u32(25)) == "unknown");
}

TEST_CASE("set_config: what is more than calls with parameters pins as before") {
    for (const char* text :
         {"select set_config($1, $2, false) from t", "select lower(set_config('a.b', $1, false))",
          "select set_config('a.b', $1::varchar(1), false)",
          "select set_config('a.b', $1::int, false)", "select set_config('a.b', $1 || 'x', false)",
          "select 1, set_config('a.b', $1, false)", "select set_config('seed', $1, false)",
          "set a.b = 1; select set_config('a.b', $1, false)"}) {
        INFO(text);
        CHECK(bound(text, bind_body({{"x"}})) == "pins");
    }
    CHECK(bound("select set_config($1, $2, true)", bind_body({{"a.b"}, {"x"}})) ==
          "nothing to bind");
}

}  // namespace pgb::test

#include "proxy/session/settings_book.h"

#include <string>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using Kind = SettingChange::Kind;

SettingsBook book_of(const std::vector<SettingChange>& changes) {
    SettingsBook book;
    for (const SettingChange& change : changes) CHECK(book.apply(change));
    return book;
}

SettingChange set(const std::string& name, const std::string& text = "x") {
    return {Kind::set, name, text};
}

std::string texts(const SettingsBook& book) {
    std::string all;
    book.for_each([&all](std::string_view text) { (all += text) += ';'; });
    return all;
}

TEST_CASE("settings book: a name is there once, and its last value stands last") {
    CHECK(texts(book_of({set("a", "1"), set("b", "2"), set("a", "3")})) == "2;3;");
}

TEST_CASE("settings book: what RESET undoes is as if it had never been said") {
    const SettingsBook before = book_of({set("a")});
    const SettingsBook after = book_of({set("a"), set("b"), {Kind::reset, "b", {}}});
    CHECK(after == before);
    CHECK(after.fingerprint() == before.fingerprint());
    CHECK(book_of({set("a"), {Kind::reset, "a", {}}}).empty());
}

TEST_CASE("settings book: RESET ALL keeps who the session is, DISCARD ALL does not") {
    const std::vector<SettingChange> changes{set("session_authorization", "s"), set("role", "r"),
                                             set("a", "1")};
    SettingsBook book = book_of(changes);
    CHECK(book.apply({Kind::reset_all, {}, {}}));
    CHECK(texts(book) == "s;r;");
    CHECK(book.apply({Kind::discard_all, {}, {}}));
    CHECK(book.empty());
    CHECK(book.fingerprint() == 0);
}

TEST_CASE("settings book: another session_authorization takes the role away") {
    SettingsBook book = book_of({set("role", "r"), set("session_authorization", "s")});
    CHECK(texts(book) == "s;");
    CHECK(book.apply(set("role", "r")));
    CHECK(book.apply({Kind::reset, "session_authorization", {}}));
    CHECK(book.empty());
}

TEST_CASE("settings book: the encoding does not change while bytes of it are kept") {
    SettingsBook book = book_of({set("client_encoding", "'LATIN1'"), set("a.b", "'\xe9'")});
    CHECK_FALSE(book.apply(set("client_encoding", "'UTF8'")));
    CHECK_FALSE(book.apply({Kind::reset, "client_encoding", {}}));
    CHECK(book.apply({Kind::reset, "a.b", {}}));
    CHECK(book.apply(set("client_encoding", "'UTF8'")));
    CHECK(texts(book) == "'UTF8';");
}

TEST_CASE("settings book: it is bounded by names and by bytes") {
    SettingsBook many;
    for (std::size_t i = 0; i < SettingsBook::kNamesMax; ++i) {
        CHECK(many.apply(set("n" + std::to_string(i))));
    }
    CHECK_FALSE(many.apply(set("one more")));
    SettingsBook large = book_of({set("a", std::string(SettingsBook::kBytesMax / 2, 'x'))});
    CHECK_FALSE(large.apply(set("b", std::string(SettingsBook::kBytesMax / 2, 'x'))));
    CHECK(large.has("a"));
    CHECK_FALSE(large.has("b"));
}

TEST_CASE("settings book: the order counts, as a later SET may depend on an earlier one") {
    CHECK_FALSE(book_of({set("a"), set("b")}) == book_of({set("b"), set("a")}));
    CHECK(book_of({set("a"), set("b")}).fingerprint() !=
          book_of({set("b"), set("a")}).fingerprint());
}

}  // namespace
}  // namespace pgb::test

#include "proxy/session/own_warnings.h"

#include <string>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

using Warnings = VirtualBlock::Warnings;

Warnings after(const std::string& text) {
    SettingsBook book;
    CHECK(book.apply({SettingChange::Kind::set, "client_min_messages", text}));
    return warnings_for(book);
}

TEST_CASE("own warnings: a session that has said nothing is told") {
    CHECK(warnings_for({}) == Warnings::told);
    SettingsBook other;
    CHECK(other.apply(
        {SettingChange::Kind::set, "application_name", "SET \"application_name\" TO 'error'"}));
    CHECK(warnings_for(other) == Warnings::told);
}

TEST_CASE("own warnings: only what is above WARNING mutes them") {
    CHECK(after("SET \"client_min_messages\" TO 'error'") == Warnings::muted);
    CHECK(after("SET \"client_min_messages\" TO 'Panic'") == Warnings::muted);
    CHECK(after("SET \"client_min_messages\" TO 'warning'") == Warnings::told);
    CHECK(after("SET \"client_min_messages\" TO 'debug1'") == Warnings::told);
}

}  // namespace
}  // namespace pgb::test

#include "proxy/session/reported_values.h"

#include "tests/support/catch.h"

namespace pgb {

TEST_CASE("a value is new once") {
    ReportedValues values;
    CHECK(values.empty());
    CHECK(values.set("TimeZone", "UTC"));
    CHECK_FALSE(values.set("TimeZone", "UTC"));
    CHECK(values.set("TimeZone", "Europe/Paris"));
    CHECK(values.value("TimeZone") == "Europe/Paris");
    CHECK_FALSE(values.value("DateStyle").has_value());
}

TEST_CASE("a change of a copy leaves the other as it was") {
    ReportedValues backend;
    backend.set("TimeZone", "UTC");
    backend.set("DateStyle", "ISO, MDY");
    ReportedValues session = backend;
    CHECK(session.set("TimeZone", "Asia/Tokyo"));
    CHECK(backend.value("TimeZone") == "UTC");
    CHECK(session.value("DateStyle") == "ISO, MDY");
    CHECK(backend.set("DateStyle", "German"));
    CHECK(session.value("DateStyle") == "ISO, MDY");
}

TEST_CASE("only equal values join, and stay apart when one changes later") {
    ReportedValues one;
    ReportedValues two;
    CHECK(one.joins(two));
    one.set("TimeZone", "UTC");
    CHECK_FALSE(two.joins(one));
    CHECK(two.empty());
    two.set("TimeZone", "UTC");
    CHECK(two.joins(one));
    two.set("TimeZone", "GMT");
    CHECK(one.value("TimeZone") == "UTC");
    CHECK_FALSE(two.joins(one));
}

}  // namespace pgb

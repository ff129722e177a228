#include "protocol/workload_setting.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace pgb {

TEST_CASE("workload setting: the forms that give it a value are read") {
    for (const std::string_view text : {
             "set pgbulkhead.workload to 'reports'",
             "SET pgbulkhead.workload = reports",
             "SET PgBulkhead.Workload TO Reports;",
             "set local pgbulkhead.workload = 'reports'",
             "SET SESSION pgbulkhead.workload TO \"reports\"",
             "/* c */ SET \"pgbulkhead\".\"workload\" TO 'reports'; select 1",
             "select set_config('pgbulkhead.workload', 'reports', true)",
             "SELECT pg_catalog.set_config('pgbulkhead.workload', 'reports', false)",
         }) {
        INFO(text);
        CHECK(read_workload_setting(text) == "reports");
    }
    CHECK(read_workload_setting("set pgbulkhead.workload to 'it''s'") == "it's");
    CHECK(read_workload_setting("set pgbulkhead.workload to ''") == "");
    CHECK(read_workload_setting("set pgbulkhead.workload to 'default'") == "default");
}

TEST_CASE("workload setting: any other text gives it none") {
    for (const std::string_view text : {
             "",
             "set",
             "select 1",
             "set search_path to 'reports'",
             "set pgbulkhead.other to 'x'",
             "set pgbulkhead.workload to default",
             "reset pgbulkhead.workload",
             "set pgbulkhead.workload",
             "set pgbulkhead.workload to 'a', 'b'",
             "set pgbulkhead.workload to E'a'",
             "set \"pgbulkhead.workload\" to 'a'",
             "set pgbulkhead.workload to 1",
             "select 1, set_config('pgbulkhead.workload', 'a', true)",
             "select set_config('pgbulkhead.workload', $1, true)",
             "select set_config('search_path', 'a', true)",
             "show pgbulkhead.workload",
             "begin; set pgbulkhead.workload to 'a'",
         }) {
        INFO(text);
        CHECK_FALSE(read_workload_setting(text).has_value());
    }
}

}  // namespace pgb

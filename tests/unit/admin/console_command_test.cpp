#include <string>
#include <string_view>
#include <vector>

#include "proxy/admin/console/command.h"
#include "tests/support/catch.h"

using namespace pgb;

namespace {

/// The first candidate, so that a test sees that it was asked.
std::string first(std::string_view, std::span<const std::string_view> candidates) {
    return std::string(candidates.front());
}

ConsoleCommand one(std::string_view text) {
    INFO(text);
    ConsoleScript script = parse_console(text, first);
    REQUIRE_FALSE(script.fault);
    REQUIRE(script.commands.size() == 1);
    return script.commands[0];
}

std::string fault(std::string_view text) {
    INFO(text);
    const ConsoleScript script = parse_console(text, first);
    REQUIRE(script.fault);
    CHECK(script.commands.empty());
    return script.fault->sqlstate + ' ' + script.fault->message;
}

using Values = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("console: keywords are read in any case, with and without a semicolon and comments") {
    for (const std::string_view text :
         {"SHOW WORKLOADS", "show workloads;", " Show\tWorkLoads ; ",
          "show /* a /* b */ */ workloads", "-- what\nshow workloads -- now"}) {
        const ConsoleCommand command = one(text);
        CHECK(command.verb == ConsoleVerb::show);
        CHECK(command.view == ConsoleView::workloads);
        CHECK(command.tag == "SHOW");
        CHECK_FALSE(command.changes_something());
        CHECK(command.columns.size() == columns_of(ConsoleView::workloads).size());
    }
}

TEST_CASE("console: names and values stay as they are written, in quotes or not") {
    const ConsoleCommand command = one(
        "set workload \"Bulk-Load\" CONCURRENCY = 8, queue=16 , queue_wait = '1s', mode to shadow");
    CHECK(command.verb == ConsoleVerb::set_workload);
    CHECK(command.name == "Bulk-Load");
    CHECK(command.values ==
          Values{{"concurrency", "8"}, {"queue", "16"}, {"queue_wait", "1s"}, {"mode", "shadow"}});
    CHECK(one("set workload bulk-load queue_wait 250ms").name == "bulk-load");
    CHECK(one("set workload bulk-load queue_wait 250ms").values == Values{{"queue_wait", "250ms"}});
    CHECK(one("set workload 'it''s' mode = off").name == "it's");
}

TEST_CASE("console: a client is a number, a database may be left out") {
    CHECK(one("kill 17").client == 17);
    CHECK(one("cancel '17'").client == 17);
    CHECK(one("pause").name.empty());
    CHECK(one("PAUSE *;").name == "*");
    CHECK(one("resume \"My Db\"").name == "My Db");
    for (const std::string_view text : {"kill", "kill x", "kill -1", "kill 1 2", "kill 1x",
                                        "kill 99999999999999999999", "cancel ;"}) {
        CHECK(fault(text).starts_with("42601 "));
    }
}

TEST_CASE("console: a text is a list of commands, and a mistake anywhere refuses all of it") {
    CHECK(parse_console("", first).commands.empty());
    CHECK(parse_console(" ;; -- nothing\n;", first).commands.empty());
    CHECK(parse_console("show help; ; show version;", first).commands.size() == 2);
    CHECK(fault("show help; shwo version") ==
          "42601 the console does not know the command \"shwo\"");
    CHECK(fault("show help version x") == "42601 syntax error at or near \"version\"");
    CHECK(fault("set workload") == "42601 syntax error at end of input");
    CHECK(fault("set workload a = 3") == "42601 syntax error at or near \"=\"");
    CHECK(fault("set workload a queue = 3,") == "42601 syntax error at end of input");
    CHECK(fault("show 'help") == "42601 a quote or a comment does not end");
    CHECK(fault("show help /*") == "42601 a quote or a comment does not end");
    std::string many;
    for (int i = 0; i < 101; ++i) many += "show help;";
    CHECK(fault(many).starts_with("54000 "));
}

TEST_CASE("console: what drivers send unasked is answered, and real queries are not") {
    CHECK(one("BEGIN").transaction == TransactionVerb::begin);
    CHECK(one("start transaction read only").tag == "START TRANSACTION");
    CHECK(one("COMMIT;").tag == "COMMIT");
    CHECK(one("rollback").tag == "ROLLBACK");
    CHECK(one("SET extra_float_digits = 3").tag == "SET");
    CHECK(one("set session characteristics as transaction read write").tag == "SET");
    CHECK(one("DISCARD ALL").tag == "DISCARD ALL");
    CHECK(one("UNLISTEN *").tag == "UNLISTEN");
    CHECK(std::get<std::int64_t>(one("select 1").value) == 1);
    CHECK(one("SELECT version()").columns[0].name == "version");
    CHECK(std::get<std::string>(one("show transaction isolation level").value) == "read committed");
    CHECK(std::get<std::string>(one("SHOW standard_conforming_strings").value) == "on");
    CHECK(fault("select * from pg_class").starts_with("0A000 "));
    CHECK(fault("begin nonsense").starts_with("42601 "));
    CHECK(fault("show $1").starts_with("42601 "));
}

TEST_CASE("console: only what changes something is kept from those who may not") {
    for (const std::string_view text : {"pause", "resume", "reload", "drain", "kill 1", "cancel 1",
                                        "set workload a mode = off"}) {
        CHECK(one(text).changes_something());
    }
    for (const std::string_view text : {"show clients", "select 1", "begin", "set a = 1"}) {
        CHECK_FALSE(one(text).changes_something());
    }
}

#include <set>
#include <string>
#include <string_view>

#include "config/codes.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

struct BadFile {
    std::string text;
    std::string complaints;  // one a line, without the "f:" and with "PGB-CFG-" as "#"
};

std::string after_smallest(const std::string& more) { return std::string(kSmallest) + more; }

std::string workload(const std::string& more) {
    return "workloads: [{name: default, concurrency: 8, " + more + "}]";
}

std::vector<BadFile> structure_files() {
    return {
        {"",
         "#002: a budgets file is a mapping; the smallest is `workloads: [{name: default, "
         "concurrency: 8}]`"},
        {"a: [", "1:1: #002: not YAML: end of sequence flow not found"},
        {"- a",
         "1:1: #002: a budgets file is a mapping; the smallest is `workloads: [{name: default, "
         "concurrency: 8}]`"},
        {after_smallest("---\na: 1\n"), "3:1: #002: a budgets file is one document"},
        {after_smallest("drain: &x {timeout: 3s}\n"),
         "2:8: #004: an anchor is not part of this format"},
        {after_smallest("drain: *x\n"),
         "2:8: #002: not YAML: the referenced anchor is not defined"},
        {after_smallest("drain: !!map {timeout: 3s}\n"),
         "2:8: #004: a tag is not part of this format"},
        {after_smallest("log: {level: \"${NOPE}\"}\n"),
         "2:14: #005: `log.level`: needs the environment variable `NOPE`, which is not set"},
        {after_smallest("log: {level: \"${NOPE\"}\n"),
         "2:14: #005: `log.level`: has a `${` without its `}`"},
        {after_smallest("log: {level: \"${1X}\"}\n"),
         "2:14: #005: `log.level`: has a malformed variable; write ${NAME} or ${NAME:-default}"},
        {after_smallest("darin: {}\n"),
         "2:1: #010: there is no key `darin` here (did you mean `drain`?)"},
        {after_smallest("drain.timeout: 3s\n"), "2:1: #010: there is no key `drain.timeout` here"},
        {after_smallest("drain: {timeout: 3s, timeout: 4s}\n"),
         "2:22: #011: `timeout` stands twice in this mapping"},
        {after_smallest("? [a]\n: 1\n"), "2:3: #012: a key must be a word"},
        {"concurrency: 3",
         "#017: `workloads` is missing; the smallest is `workloads: [{name: "
         "default, concurrency: 8}]`\n1:1: #010: there is no key `concurrency` "
         "here"},
        {"workloads: []", "1:12: #017: `workloads` is empty"},
        {"workloads: 8", "1:12: #012: `workloads` takes a list, not a single value"},
        {"workloads: [8]", "1:13: #012: `workloads[0]` takes a mapping, not a single value"},
        {"workloads: [{name: default}]", "1:13: #017: `workloads.concurrency` is missing here"},
        {after_smallest("drain: 3s\n"), "2:8: #012: `drain` takes a mapping, not a single value"},
        {after_smallest("databases: [a]\n"), "2:12: #012: `databases` takes a mapping, not a list"},
        {after_smallest("admin: {console_users: admin}\n"),
         "2:24: #012: `admin.console_users`: takes a list of words"},
    };
}

std::vector<BadFile> value_files() {
    return {
        {workload("queue_wait: 250"),
         "1:57: #013: `workloads.queue_wait`: `250` lacks its unit (us, "
         "ms, s, m or h) (did you mean `250ms`?)"},
        {workload("orphan_hold: 0"),
         "1:58: #014: `workloads.orphan_hold`: must be from 1ms to 720h, not `0`"},
        {workload("queue: -1"), "1:52: #014: `workloads.queue`: `-1` is negative"},
        {workload("sqlstate: 4000"),
         "1:55: #016: `workloads.sqlstate`: `4000` is not a SQLSTATE: five "
         "digits or capital letters"},
        {workload("sqlstate: 57P01"),
         "1:55: #034: SQLSTATE `57P01` makes clients and pools throw "
         "the connection away (did you mean `40001`?)"},
        {workload("sqlstate: 53300"),
         "1:55: #035: warning: SQLSTATE `53300` makes some clients throw the connection, or all of "
         "a pool, away (did you mean `40001`?)"},
        {"{databases: {pgbulkhead: {conninfo: a=b}}, workloads: [{name: default, concurrency: 2}]}",
         "1:14: #031: the name `pgbulkhead` opens the console; see `admin.console_database`"},
        {"{databases: {a: {conninfo: a=b, min_idle: 1}}, workloads: [{name: default, "
         "concurrency: 2}]}",
         "1:43: #020: `databases.min_idle` belongs to a feature that is not "
         "built yet; only 0 is accepted"},
        {workload("mode: enfroce"),
         "1:51: #015: `workloads.mode`: takes enforce, shadow or off, not "
         "`enfroce` (did you mean `enforce`?)"},
        {after_smallest("drain: {delay: 25s}\n"),
         "2:16: #048: it has to be shorter than `drain.timeout`, which counts from SIGTERM, too"},
        {workload("queue: 5"), "1:52: #044: warning: a queue without a `queue_wait` is never used"},
        {workload("queue_wait: 1s"),
         "1:57: #044: warning: a `queue_wait` without a queue is never used"},
        {"workloads:\n  - {name: housekeeping, concurrency: 1, match: {user: a}}\n"
         "  - {name: default, concurrency: 1}\n",
         "2:12: #032: `housekeeping` is the name of the lane of housekeeping"},
        {workload("max_pinned: 24"),
         "1:57: #036: `workloads.max_pinned`: must leave a backend of each pool unpinned: at most "
         "23 with a pool_size of 24"},
        {workload("match: {user: a}"), "1:52: #030: `default` takes the rest: no `match` here"},
        {"workloads: [{name: default, concurrency: 25}]",
         "1:42: #041: warning: a concurrency of 25 is more than the 23 backends that this workload "
         "can use"},
        {"workloads: [{name: last, concurrency: 2}]",
         "1:20: #030: the last workload must be named `default`"},
        {"workloads: [{name: a b, concurrency: 2}]",
         "1:20: #032: `workloads.name`: `a b` is not a name: up to 63 letters, digits, `_`, `.` or "
         "`-`"},
        {"workloads: [{name: a, concurrency: 2}, {name: default, concurrency: 2}]",
         "1:20: #045: warning: without a `match` this workload takes everything, and nothing "
         "reaches those after it"},
        {after_smallest("databases: {\"*\": {conninfo: [secret]}}\n"),
         "2:29: #012: `databases.conninfo`: takes a single value, not a list"},
        {after_smallest("databases: {\"\": {}}\n"),
         "2:13: #032: `` is no database name: 1 to 63 bytes, no control characters"},
    };
}

std::vector<BadFile> rule_files() {
    const std::string two =
        "workloads:\n"
        "  - {name: a, concurrency: 20, match: {user: a}}\n"
        "  - {name: default, concurrency: 20}\n";
    return {
        {"workloads:\n  - {name: a, concurrency: 1, match: {user: a}}\n"
         "  - {name: a, concurrency: 1, match: {user: b}}\n  - {name: default, concurrency: 1}\n",
         "3:12: #031: the name `a` is taken in `workloads`"},
        {"workloads:\n  - {name: my-query_wait_timeout, concurrency: 1, match: {user: a}}\n"
         "  - {name: default, concurrency: 1}\n",
         "2:12: #032: `my-query_wait_timeout` contains `query_wait_timeout`, which client "
         "libraries "
         "take for a lost connection"},
        {"workloads:\n  - {name: a, concurrency: 1, match: {listener: ap}}\n"
         "  - {name: default, concurrency: 1}\n",
         "2:49: #033: there is no listener `ap` (did you mean `app`?)"},
        {"workloads:\n  - {name: a, concurrency: 1, match: {database: shop}}\n"
         "  - {name: default, concurrency: 1}\ndatabases: {other: {}}\n",
         "2:49: #046: warning: no entry of `databases` serves this workload"},
        {two + "databases: {\"*\": {pool_size: 24}}\n",
         "4:30: #042: warning: the 2 workloads that use only this pool have 40 permits together "
         "for 23 backends, one being set aside for housekeeping"},
        {after_smallest("listen: [{name: a, address: 10.0.0.1}]\n"),
         "2:29: #037: auth method trust serves loopback and Unix sockets only, and `10.0.0.1` may "
         "be reached from other machines"},
        {after_smallest("listen: [{name: a, address: 10.0.0.1, auth: {method: scram-sha-256}}]\n"),
         "2:54: #060: scram-sha-256 needs a `users_file`"},
        {after_smallest("listen: [{name: a, address: 10.0.0.1, auth: {method: passthrough}}]\n"),
         "2:54: #061: with passthrough the passwords that come to `10.0.0.1` would travel in the "
         "clear"},
        {after_smallest("listen: [{name: a}]\n"),
         "2:10: #038: a listener needs `address` or `unix_socket_dir`"},
        {after_smallest("listen: [{name: a, address: \"::1\", unix_socket_dir: /tmp}]\n"),
         "2:10: #038: a listener has either `address` or `unix_socket_dir`, not both"},
        {after_smallest("listen: [{name: a, unix_socket_dir: tmp}]\n"),
         "2:37: #039: `tmp` is not an absolute path"},
        {after_smallest("listen: [{name: a, unix_socket_dir: /" + std::string(93, 'x') + "}]\n"),
         "2:37: #039: the socket's path has 108 bytes, the system takes 107"},
        {after_smallest("listen: [{name: a, unix_socket_dir: /tmp, port: 0}]\n"),
         "2:49: #014: a Unix socket needs a port above 0 for its name"},
        {after_smallest("listen:\n  - {name: a, address: 127.0.0.1}\n"
                        "  - {name: b, address: 127.0.0.1}\n"),
         "4:24: #040: `127.0.0.1:6432` is already taken by `listen[0].address`"},
        {after_smallest("admin: {http: \"127.0.0.1:6432\"}\n"),
         "2:15: #040: `127.0.0.1:6432` is already taken by `listen[0].address`"},
        {after_smallest("admin: {http: \"0.0.0.0:9\"}\n"),
         "2:15: #047: warning: `admin.http` may be reached from other machines; for a kubelet "
         "there is `admin.probes`"},
        {after_smallest("listen: [{name: a, address: 127.0.0.1, tls: {mode: require, cert: c}}]\n"),
         "2:45: #070: TLS needs `key`"},
        {after_smallest("listen: [{name: a, unix_socket_dir: /tmp, tls: {mode: allow}}]\n"),
         "2:55: #070: a Unix socket has no TLS, and needs none"},
        {after_smallest("listen: [{name: a, address: 127.0.0.1, tls: {cert: c}}]\n"),
         "2:52: #071: warning: without a `mode` there is no TLS here"},
        {after_smallest("fleet: {instances: 4, surge: 1, other_connections: 6, "
                        "database_connections: 125}\n"),
         "2:77: #043: warning: 5 instances of 24 connections and 6 others are 126, more than the "
         "125 that the database takes"},
        {after_smallest("fleet: {database_connections: 23, on_excess: refuse}\n"),
         "2:31: #043: 1 instances of 24 connections and 0 others are 24, more than the 23 that the "
         "database takes"},
    };
}

std::string expanded(const std::string& complaints) {
    std::string result = "f:";
    for (char c : complaints) {
        if (c == '#') {
            result += result.ends_with("f:") ? " PGB-CFG-" : "PGB-CFG-";
        } else {
            result += c;
        }
        if (c == '\n') result += "f:";
    }
    return result + "\n";
}

}  // namespace

TEST_CASE("complaints: a bad file gets exactly these lines") {
    std::vector<BadFile> files = structure_files();
    for (const auto& part : {value_files(), rule_files()})
        files.insert(files.end(), part.begin(), part.end());
    for (const BadFile& file : files) {
        INFO(file.text);
        CHECK(joined(complaint_lines(load(file.text))) == expanded(file.complaints));
    }
}

TEST_CASE("complaints: every code but the one of unreadable files and of bounds has a bad file") {
    std::string all;
    for (const auto& part : {structure_files(), value_files(), rule_files()}) {
        for (const BadFile& file : part) all += joined(complaint_lines(load(file.text)));
    }
    for (const code::Entry& entry : code::kAll) {
        if (entry.code == code::kUnreadable || entry.code == code::kTooLarge) continue;
        INFO(entry.code);
        CHECK(all.find(entry.code) != std::string::npos);
    }
}

TEST_CASE(
    "complaints: what the file leaves to the embedded default is complained about without a line") {
    const Loaded loaded = load(
        "workloads:\n  - {name: a, concurrency: 20, match: {user: a}}\n"
        "  - {name: default, concurrency: 20}\n");
    CHECK(
        joined(complaint_lines(loaded)) ==
        "f: PGB-CFG-042: warning: the 2 workloads that use only this pool have 40 permits together "
        "for 23 backends, one being set aside for housekeeping\n");
}

TEST_CASE("complaints: the longest path that a Unix socket takes is accepted") {
    const std::string dir = "/" + std::string(92, 'x');
    CHECK(load(after_smallest("listen: [{name: a, unix_socket_dir: " + dir + "}]\n"))
              .complaints.empty());
}

TEST_CASE("complaints: no code has two meanings") {
    std::set<std::string_view> codes;
    for (const code::Entry& entry : code::kAll) CHECK(codes.insert(entry.code).second);
}

TEST_CASE("complaints: a warning does not refuse the file, an error does") {
    CHECK(load(workload("queue: 5")).config.has_value());
    CHECK_FALSE(load(workload("queue: five")).config.has_value());
}

TEST_CASE("complaints: all mistakes of a file come at once, in the order of the file") {
    const Loaded loaded = load("zzz: 1\nworkloads: [{name: default, concurrency: x}]\nlog: 7\n");
    REQUIRE(loaded.complaints.size() == 3);
    CHECK(loaded.complaints[0].line == 1);
    CHECK(loaded.complaints[1].line == 2);
    CHECK(loaded.complaints[2].line == 3);
}

TEST_CASE("complaints: a conninfo is never repeated, whatever is wrong with it") {
    for (std::string value :
         {"\"password=hunter2\\n\"", "[password=hunter2]", "\"password=hunter2 ${NOPE}\""}) {
        const Loaded loaded = load(after_smallest("databases: {a: {conninfo: " + value + "}}\n"));
        REQUIRE(loaded.complaints.size() == 1);
        CHECK(loaded.complaints[0].text().find("hunter2") == std::string::npos);
    }
}

TEST_CASE("complaints: a file that cannot be read is a complaint of its own") {
    for (std::string path : {"/nonexistent/budgets.yaml", "/"}) {
        const Loaded loaded = load_file(path, small_env);
        CHECK_FALSE(loaded.config.has_value());
        CHECK(joined(complaint_lines(loaded)) == path + ": PGB-CFG-001: cannot read this file\n");
    }
}

}  // namespace pgb::config::test

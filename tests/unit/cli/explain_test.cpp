#include "proxy/cli/explain.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {

namespace {

constexpr std::string_view kFile =
    "listen:\n"
    "  - {name: app, address: 127.0.0.1}\n"
    "  - {name: local, unix_socket_dir: /tmp}\n"
    "workloads:\n"
    "  - {name: reports, concurrency: 1, match: {user: \"report_*\", tag: {workload: reports}}}\n"
    "  - {name: scans, concurrency: 1, match: {query: \"(?i)from big_table\"}}\n"
    "  - {name: kept, concurrency: 1, pooling: session, match: {application_name: kept}}\n"
    "  - {name: near, concurrency: 1, match: {client: 10.0.0.0/8, listener: app}}\n"
    "  - {name: default, concurrency: 1}\n";

class File {
public:
    File()
        : path_(std::filesystem::temp_directory_path() /
                ("pgb-explain-" + std::to_string(getpid()))) {
        std::ofstream(path_) << kFile;
    }
    ~File() { std::remove(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

struct Said {
    int code = 0;
    std::string out;
    std::string err;
    [[nodiscard]] bool has(std::string_view words) const {
        return (out + err).find(words) != std::string::npos;
    }
};

Said ask(const ExplainOptions& asked) {
    const File file;
    Options options;
    options.command = Command::explain;
    options.file = file.path();
    options.explain = asked;
    std::ostringstream out;
    std::ostringstream err;
    const int code = pgb::explain(options, small_env, out, err);
    return {code, out.str(), err.str()};
}

}  // namespace

TEST_CASE("explain: each rule before the one that matches says what does not hold") {
    ExplainOptions asked;
    asked.user = "report_1";
    asked.query = "SELECT 1 /*workload='other'*/";
    const Said said = ask(asked);
    CHECK(said.code == kExitOk);
    CHECK(said.err.empty());
    CHECK(said.has("database \"report_1\", user \"report_1\""));
    CHECK(said.has("1. reports: no, the statement's tag workload is 'other', not 'reports'\n"));
    CHECK(said.has("2. scans: no, the statement does not match \"(?i)from big_table\"\n"));
    CHECK(said.has("3. kept: no, application_name \"\" does not match \"kept\"\n"));
    CHECK(said.has("4. near: no, client 127.0.0.1 is not in 10.0.0.0/8\n"));
    CHECK(said.has("5. default: yes\nworkload: default\n"));
}

TEST_CASE("explain: a rule that matches is the last that is looked at") {
    ExplainOptions asked;
    asked.user = "report_1";
    asked.query = "SELECT 1 /*workload='reports'*/";
    CHECK(ask(asked).has("  1. reports: yes\nworkload: reports\n"));
    asked.user = "other";
    CHECK(ask(asked).has("1. reports: no, user \"other\" does not match \"report_*\""));
    asked.query = "select 1 FROM Big_Table";
    CHECK(ask(asked).has("  2. scans: yes\nworkload: scans\n"));
    asked.query.clear();
    CHECK(ask(asked).has("2. scans: no, there is no statement to match"));
    asked.client = "10.1.2.3";
    CHECK(ask(asked).has("workload: near\n"));
    asked.listener = "local";
    CHECK(ask(asked).has("4. near: no, listener \"local\" is not \"app\""));
    asked.client.reset();
    CHECK(ask(asked).has("client of a Unix socket"));
}

TEST_CASE("explain: a workload that is asked for by name stands for its tag and nothing else") {
    ExplainOptions asked;
    asked.user = "report_1";
    asked.workload = "reports";
    CHECK(ask(asked).has("  1. reports: yes\nworkload: reports\n"));
    asked.user = "other";
    CHECK(ask(asked).has("so the rules decide:\n"));
    CHECK(ask(asked).has("workload: default\n"));
    asked.workload = "nosuch";
    CHECK(ask(asked).has("asks for \"nosuch\", which is no workload"));
    asked.user = "report_1";
    asked.query = "SET LOCAL pgbulkhead.workload = 'reports'";
    CHECK(ask(asked).has("workload: reports\n"));
}

TEST_CASE("explain: a session stays with the workloads that are pooled as its login chose") {
    ExplainOptions asked;
    asked.application_name = "kept";
    CHECK(ask(asked).has("3. kept: yes\nworkload: kept\n"));
    asked.workload = "default";
    CHECK(ask(asked).has("5. default: no, it has `pooling: transaction`"));
    CHECK(ask(asked).has("workload: kept\n"));
}

TEST_CASE("explain: what is not in the file leaves with 2") {
    ExplainOptions asked;
    asked.listener = "nosuch";
    CHECK(ask(asked).code == kExitBadUsage);
    CHECK(ask(asked).err == "there is no listener \"nosuch\"\n");
    asked.listener.reset();
    asked.client = "nowhere";
    CHECK(ask(asked).code == kExitBadUsage);
    CHECK(ask(asked).err == "\"nowhere\" is not an address\n");
    Options options;
    options.command = Command::explain;
    options.file = "/nonexistent/budgets.yaml";
    std::ostringstream out;
    std::ostringstream err;
    CHECK(pgb::explain(options, small_env, out, err) == kExitBadUsage);
    CHECK(out.str().empty());
}

TEST_CASE("explain: housekeeping is named, with the workload that it has inside a block") {
    const auto said = [](std::string user, std::string query, std::string application_name = "") {
        ExplainOptions asked;
        asked.user = std::move(user);
        asked.query = std::move(query);
        asked.application_name = std::move(application_name);
        return ask(asked);
    };
    CHECK(
        said("app", "SELECT 1").has("in a lane of its own; behind other work in a block:\n  1. "));
    CHECK(
        said("app", "DISCARD ALL").has("answered by the proxy unless the session keeps a backend"));
    CHECK(said("app", "SHOW work_mem").has("in a lane of its own while the workload is full"));
    CHECK_FALSE(said("app", "SELECT 2").has("housekeeping"));
    CHECK_FALSE(said("app", "SET pgbulkhead.workload = 'near'").has("housekeeping"));
    // A session that keeps its backend has no such lane.
    CHECK_FALSE(said("app", "SELECT 1", "kept").has("housekeeping"));
}

}  // namespace pgb::config::test

#include "proxy/io/connect_plan.h"

#include <cstdlib>

#include "tests/support/catch.h"

using namespace pgb;

namespace {

ConnectRequest request(std::string conninfo, ParameterList parameters = {}) {
    ConnectRequest made;
    made.conninfo = std::move(conninfo);
    made.startup_parameters = std::move(parameters);
    return made;
}

std::string planned(const ConnectRequest& wanted, std::string_view keyword) {
    auto plan = plan_connect(wanted);
    INFO((plan.ok() ? std::string() : plan.error().message));
    REQUIRE(plan.ok());
    return plan.value().get(keyword);
}

}  // namespace

TEST_CASE("connect plan: sslmode is disable unless somebody says otherwise") {
    CHECK(planned(request("host=/tmp user=u"), "sslmode") == "disable");
    CHECK(planned(request("postgresql://u@h/d"), "sslmode") == "disable");
    CHECK(planned(request("host=h sslmode=prefer"), "sslmode") == "prefer");
    CHECK(planned(request("postgresql://u@h/d?sslmode=verify-full"), "sslmode") == "verify-full");
    setenv("PGSSLMODE", "require", 1);
    CHECK(planned(request("host=h"), "sslmode") == "require");
    CHECK(planned(request("host=h sslmode=disable"), "sslmode") == "disable");
    unsetenv("PGSSLMODE");
}

TEST_CASE("connect plan: gssencmode is always disable") {
    CHECK(planned(request("host=h gssencmode=prefer"), "gssencmode") == "disable");
}

TEST_CASE("connect plan: database and user of the request win and are taken literally") {
    ConnectRequest wanted = request("host=h dbname=other user=other");
    wanted.database = "host=evil port=1";
    wanted.user = "o'brien \\";
    CHECK(planned(wanted, "dbname") == "host=evil port=1");
    CHECK(planned(wanted, "user") == "o'brien \\");
    CHECK(planned(wanted, "host") == "h");
}

TEST_CASE("connect plan: variables serve what the string does not say") {
    setenv("PGHOST", "from-variable", 1);
    setenv("PGPORT", "77", 1);
    CHECK(planned(request(""), "host") == "from-variable");
    CHECK(planned(request("port=78"), "port") == "78");
    unsetenv("PGHOST");
    unsetenv("PGPORT");
}

TEST_CASE("connect plan: a broken string is an error without its secrets") {
    for (const char* text : {"password=my s3cret host=h", "postgresql://u:s3cret@[h/", "s3cret"}) {
        auto plan = plan_connect(request(text));
        REQUIRE_FALSE(plan.ok());
        CHECK(plan.error().message.find("s3cret") == std::string::npos);
        CHECK(plan.error().message.find('\n') == std::string::npos);
        CHECK_FALSE(plan.error().from_server);
    }
    CHECK_FALSE(plan_connect(request("host=a,b hostaddr=1.1.1.1")).ok());
    CHECK_FALSE(plan_connect(request("service=no-such-service")).ok());
}

TEST_CASE("connect plan: startup parameters go behind the options of string and client") {
    CHECK(
        planned(request("host=h options='-c geqo=off'",
                        {{"search_path", "a, b\\c"}, {"options", "-c x=1\\"}, {"work_mem", "5MB"}}),
                "options") == "-c geqo=off -c x=1 -c search_path=a,\\ b\\\\c -c work_mem=5MB");
    CHECK(planned(request("host=h", {{"application_name", "my app"}}), "application_name") ==
          "my app");
    CHECK(planned(request("host=h", {{"application_name", "my app"}}), "options").empty());
    CHECK(planned(request("host=h application_name=x", {{"application_name", ""}}), "options") ==
          "-c application_name=");
    CHECK(planned(request("host=h", {{"client_encoding", "auto"}}), "options") ==
          "-c client_encoding=auto");
}

TEST_CASE("connect plan: a parameter whose name can't be one is refused as PostgreSQL would") {
    for (const char* name : {"a=b", "a-b", ""}) {
        auto plan = plan_connect(request("host=h", {{name, "1"}}));
        REQUIRE_FALSE(plan.ok());
        CHECK(plan.error().sqlstate == "42704");
    }
}

TEST_CASE("connect plan: hosts keep their order, ports and Unix sockets") {
    ConnectOptions options;
    options.set("host", "name,/dir,10.0.0.1,::1");
    options.set("port", "1,2,3,4");
    const auto hosts = hosts_of(options);
    REQUIRE(hosts.size() == 4);
    CHECK(hosts[0].needs_lookup());
    CHECK_FALSE(hosts[1].needs_lookup());
    CHECK_FALSE(hosts[2].needs_lookup());
    CHECK_FALSE(hosts[3].needs_lookup());
    CHECK(hosts[1].port == "2");

    set_hosts(options, {{"name", "10.1.1.1", "1"}, {"name", "10.1.1.2", "1"}, {"/dir", "", "2"}});
    CHECK(options.get("host") == "name,name,/dir");
    CHECK(options.get("hostaddr") == "10.1.1.1,10.1.1.2,");
    CHECK(options.get("port") == "1,1,2");

    ConnectOptions one_port;
    one_port.set("host", "a,b");
    one_port.set("port", "9");
    CHECK(hosts_of(one_port)[1].port == "9");
    CHECK(hosts_of(ConnectOptions{}).size() == 1);
    CHECK_FALSE(hosts_of(ConnectOptions{})[0].needs_lookup());
}

TEST_CASE("connect plan: keepalive is as the request says where the string does not") {
    ConnectRequest wanted = request("host=h keepalives_idle=7");
    wanted.tcp = keepalive_options(std::chrono::seconds(60), std::chrono::seconds(30));
    CHECK(planned(wanted, "keepalives") == "1");
    CHECK(planned(wanted, "keepalives_idle") == "7");
    CHECK(planned(wanted, "keepalives_interval") == "10");
    CHECK(planned(wanted, "keepalives_count") == "3");
    CHECK(planned(wanted, "tcp_user_timeout").empty());
    wanted.tcp = keepalive_options(Duration::zero(), Duration::zero());
    CHECK(planned(wanted, "keepalives") == "0");
    CHECK(planned(request("host=h"), "keepalives_idle").empty());
    wanted.conninfo = "host=h keepalives=1";
    CHECK(planned(wanted, "keepalives") == "1");
}

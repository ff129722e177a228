#include "config/print.h"

#include <random>
#include <string>
#include <string_view>

#include "config/keys.h"
#include "config/values.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

void check_round_trip(const Config& config) {
    const std::string text = print(config, Secrets::shown);
    const Loaded again = load(text);
    INFO(text << joined(complaint_lines(again)));
    REQUIRE(again.config.has_value());
    CHECK(*again.config == config);
    CHECK(print(*again.config, Secrets::shown) == text);
}

/// Lines of the example whose feature is not built make it refuse as a whole; the rest must load.
std::string example_without_unbuilt_lines() {
    std::string text = read_source("config/budgets.example.yaml");
    const Loaded loaded = load(text);
    std::string result;
    int line = 1;
    for (std::size_t start = 0; start < text.size(); ++line) {
        const std::size_t end = text.find('\n', start) + 1;
        bool refused = false;
        for (const Complaint& complaint : loaded.complaints) refused |= complaint.line == line;
        if (!refused) result += text.substr(start, end - start);
        start = end;
    }
    return result;
}

class Dice {
public:
    explicit Dice(unsigned seed) : engine_(seed) {}
    std::uint64_t up_to(std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>(0, high)(engine_);
    }
    std::string text() {
        constexpr std::string_view kBytes = "ab \"'\\#:{}[],&*!|>%@`$=-?~\xc3\xa9";
        std::string result = "x";
        for (std::uint64_t i = up_to(12); i > 0; --i) {
            const std::size_t at = up_to(kBytes.size() - 3);
            result += kBytes[at];
        }
        return result + "\xc3\xa9" + (up_to(1) == 0 ? "${A}" : "");
    }

private:
    std::mt19937 engine_;
};

Config random_config(unsigned seed) {
    Dice dice(seed);
    Config config = default_config(small_env);
    config.listen[1].unix_socket_dir = "/" + dice.text();
    config.listen[1].port = static_cast<std::uint16_t>(1 + dice.up_to(65534));
    config.listen[1].unix_socket_mode = static_cast<std::uint32_t>(dice.up_to(0777));
    config.databases[0].name = dice.text();
    config.databases[0].conninfo = dice.text();
    config.databases[0].pool_size = 1 + dice.up_to(1000);
    config.databases[0].pool_wait = std::chrono::microseconds(dice.up_to(100000000));
    config.databases[0].max_lifetime = std::chrono::seconds(dice.up_to(100000));
    Workload workload = config.workloads[0];
    workload.name = "one";
    workload.concurrency = 1 + dice.up_to(1000);
    workload.match.user = "x*" + std::to_string(dice.up_to(1000));
    workload.match.application_name = "\\" + std::string(1, "*?[\"\\"[dice.up_to(4)]) + "null";
    workload.max_pinned = dice.up_to(config.databases[0].pool_size - 1);
    config.workloads[0].max_pinned = workload.max_pinned;
    config.workloads.insert(config.workloads.begin(), workload);
    config.limits.high_watermark = (16 << 10) + dice.up_to(1 << 20);
    config.admin.probes = Address{"::1", static_cast<std::uint16_t>(dice.up_to(65535))};
    config.fleet.database_connections = 1 + dice.up_to(10000);
    config.log.level = static_cast<LogLevel>(dice.up_to(3));
    return config;
}

}  // namespace

TEST_CASE("print: the effective configuration loads back as the same configuration") {
    check_round_trip(default_config(small_env));
    const Loaded example = load(example_without_unbuilt_lines());
    INFO(joined(complaint_lines(example)));
    REQUIRE(example.config.has_value());
    check_round_trip(*example.config);
}

TEST_CASE("print: random configurations load back as they were") {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        INFO("seed " << seed);
        check_round_trip(random_config(seed));
    }
}

TEST_CASE("print: every key stands in the effective configuration") {
    const std::string text = print(default_config(small_env), Secrets::masked);
    for (const Section& section :
         {listener_section(), database_section(), workload_section(), top_section()}) {
        for (const Key& key : section.keys) {
            const std::string leaf(key.name.substr(key.name.rfind('.') + 1));
            INFO(key.name);
            CHECK(text.find(" " + leaf + ": ") != std::string::npos);
        }
    }
}

TEST_CASE("print: passwords of a conninfo are masked") {
    struct Case {
        std::string_view conninfo;
        std::string_view masked;
    };
    const Case cases[] = {
        {"", ""},
        {"host=h port=1", "host=h port=1"},
        {"host=h password=s3 user=u", "host=h password=*** user=u"},
        {"password = 's 3\\'x' user=u", "password = *** user=u"},
        {"password='s3", "password=***"},
        {"password=a\\ b host=h", "password=*** host=h"},
        {"sslpassword=s3", "sslpassword=***"},
        {"password=two words host=h", "password=*** ***"},
        {"junk", "***"},
        {"host=h junk", "host=h ***"},
        {"postgresql://u:s3@h:1/db", "postgresql://u:***@h:1/db"},
        {"postgres://u@h/db", "postgres://u@h/db"},
        {"postgres://u:a@b@h/db", "postgres://u:***@h/db"},
        {"postgres://u:s/3@h/db", "postgres://***"},
        {"postgres://h/db?a=b&password=s3&c=d", "postgres://h/db?a=b&password=***&c=d"},
        {"postgres://h?p%61ssword=s3", "postgres://h?p%61ssword=***"},
        {"postgres://h:1", "postgres://h:1"},
    };
    for (const Case& c : cases) {
        INFO(c.conninfo);
        CHECK(mask_conninfo(c.conninfo) == c.masked);
    }
}

TEST_CASE("print: masked output holds no password, shown output does") {
    Config config = default_config(small_env);
    config.databases[0].conninfo = "password=hunter2";
    CHECK(print(config, Secrets::masked).find("hunter2") == std::string::npos);
    CHECK(print(config, Secrets::shown).find("hunter2") != std::string::npos);
}

}  // namespace pgb::config::test

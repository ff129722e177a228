#include "config/keys.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/codes.h"
#include "config/values.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

struct Row {
    Section section;
    const Key* key;
};

std::vector<Row> all_rows() {
    std::vector<Row> rows;
    for (const Section& section :
         {listener_section(), database_section(), workload_section(), top_section()}) {
        for (const Key& key : section.keys) rows.push_back({section, &key});
    }
    return rows;
}

/// `match.user` with value v -> `match: {user: v}`.
std::string nested(std::string_view name, const std::string& value) {
    std::string open;
    std::string close;
    while (true) {
        const std::size_t dot = name.find('.');
        open.append(name.substr(0, dot)).append(": ");
        if (dot == std::string_view::npos) return open.append(value).append(close);
        open += "{";
        close += "}";
        name.remove_prefix(dot + 1);
    }
}

/// A file that is complete but for `key`, which has `value`.
std::string file_with(const Row& row, const std::string& value) {
    const std::string_view name = row.key->name;
    const std::string entry = nested(name, value);
    std::string file;
    if (row.section.path == "listen") {
        file = "listen: [{";
        if (name != "name") file += "name: app, ";
        if (name != "address") file += "address: 127.0.0.1, ";
        return file + entry + "}]\n" + std::string(kSmallest);
    }
    if (row.section.path == "databases") {
        return "databases: {\"*\": {" + entry + "}}\n" + std::string(kSmallest);
    }
    if (row.section.path == "workloads") {
        file = "workloads:\n  - {";
        if (name != "name") file += "name: one, ";
        if (name != "concurrency") file += "concurrency: 2, ";
        if (!name.starts_with("match.")) file += "match: {user: x}, ";
        return file + entry + "}\n  - {name: default, concurrency: 2}\n";
    }
    return entry + "\n" + std::string(kSmallest);
}

bool has_code(const Loaded& loaded, std::string_view code) {
    for (const Complaint& complaint : loaded.complaints) {
        if (complaint.code == code) return true;
    }
    return false;
}

/// A value of the right type that is not the default.
std::string other_value(const Row& row) {
    switch (row.key->form) {
        case Form::network: return "10.0.0.0/8";
        case Form::tls_version: return "\"1.2\"";
        case Form::count:
        case Form::octal: return "3";
        case Form::size: return "2MiB";
        case Form::duration: return "77s";
        case Form::sqlstate: return "40P01";
        case Form::plain:
        case Form::name:
        case Form::glob:
        case Form::pattern:
        case Form::conninfo: break;
    }
    Listener listener;
    DatabaseEntry database;
    Workload workload;
    Config config;
    void* object = &config;
    if (row.section.path == "listen") object = &listener;
    if (row.section.path == "databases") object = &database;
    if (row.section.path == "workloads") object = &workload;
    const Slot slot = row.key->slot(object);
    if (const auto* words = std::get_if<WordSlot>(&slot)) return std::string(words->words.back());
    if (const auto* const* flag = std::get_if<bool*>(&slot)) return **flag ? "false" : "true";
    if (std::holds_alternative<std::vector<std::string>*>(slot)) return "[other]";
    if (std::holds_alternative<TagList*>(slot)) return "{other: one}";
    if (std::holds_alternative<std::optional<Address>*>(slot)) return "\"127.0.0.1:1\"";
    return "other";
}

}  // namespace

TEST_CASE("keys: every key refuses a value of another type") {
    for (const Row& row : all_rows()) {
        INFO(full_name(row.section, *row.key));
        CHECK(has_code(load(file_with(row, "[[1]]")), code::kWrongType));
        const Slot slot = [&] {
            static Listener listener;
            static DatabaseEntry database;
            static Workload workload;
            static Config config;
            if (row.section.path == "listen") return row.key->slot(&listener);
            if (row.section.path == "databases") return row.key->slot(&database);
            if (row.section.path == "workloads") return row.key->slot(&workload);
            return row.key->slot(&config);
        }();
        const bool takes_map = std::holds_alternative<TagList*>(slot);
        if (!takes_map) CHECK(has_code(load(file_with(row, "{a: b}")), code::kWrongType));
    }
}

TEST_CASE("keys: numbers, durations and sizes refuse words, wrong units and values out of range") {
    for (const Row& row : all_rows()) {
        const Form form = row.key->form;
        const bool measured = form == Form::duration || form == Form::size;
        if (!measured && form != Form::count && form != Form::octal) continue;
        INFO(full_name(row.section, *row.key));
        CHECK(has_code(load(file_with(row, "many")), code::kWrongType));
        if (measured) {
            CHECK(has_code(load(file_with(row, "5")), code::kUnit));
            CHECK(has_code(load(file_with(row, "5parsec")), code::kUnit));
        }
        const std::string unit = form == Form::duration ? "us" : "";
        if (row.key->range.low > 0) {
            CHECK(has_code(load(file_with(row, "0")), code::kRange));
        }
        if (form != Form::octal) {
            CHECK(has_code(load(file_with(row, "99999999999999999999" + unit)), code::kRange));
        }
    }
}

TEST_CASE("keys: every key takes its own default back") {
    for (const Row& row : all_rows()) {
        if (row.key->presence == Presence::required || !row.key->default_words.empty()) continue;
        const Loaded loaded = load(file_with(row, show_default(row.section, *row.key)));
        INFO(full_name(row.section, *row.key) << "\n" << joined(complaint_lines(loaded)));
        // A listener of the test has an address, so `address: null` leaves it without a door.
        if (row.section.path == "listen" && row.key->name == "address") continue;
        CHECK_FALSE(has_errors(loaded.complaints));
    }
}

TEST_CASE("keys: a key that is not built refuses any other value, a built one never says so") {
    for (const Row& row : all_rows()) {
        const Loaded loaded = load(file_with(row, other_value(row)));
        INFO(full_name(row.section, *row.key) << "\n" << joined(complaint_lines(loaded)));
        CHECK(has_code(loaded, code::kNotBuilt) == (row.key->built == Built::no));
    }
}

TEST_CASE("keys: every key has a meaning that is a sentence") {
    for (const Row& row : all_rows()) {
        INFO(full_name(row.section, *row.key));
        CHECK(row.key->meaning.ends_with("."));
    }
}

TEST_CASE("keys: the smallest useful file has the doors and databases of the embedded one") {
    const Loaded loaded = load(kSmallest);
    REQUIRE(loaded.config.has_value());
    CHECK(loaded.complaints.empty());
    const Config embedded = default_config(small_env);
    CHECK(loaded.config->listen == embedded.listen);
    CHECK(loaded.config->databases == embedded.databases);
}

TEST_CASE("keys: without a file there is one workload with B 16, Q 32, 250 ms and P 24") {
    const Config config = default_config(small_env);
    REQUIRE(config.listen.size() == 2);
    CHECK(config.listen[0].address == "127.0.0.1");
    CHECK(config.listen[0].port == 6432);
    CHECK(config.listen[1].unix_socket_dir == "/tmp");
    REQUIRE(config.databases.size() == 1);
    CHECK(config.databases[0].name == "*");
    CHECK(config.databases[0].conninfo.empty());
    CHECK(config.databases[0].pool_size == 24);
    REQUIRE(config.workloads.size() == 1);
    CHECK(config.workloads[0].name == "default");
    CHECK(config.workloads[0].concurrency == 16);
    CHECK(config.workloads[0].queue == 32);
    CHECK(config.workloads[0].queue_wait == std::chrono::milliseconds(250));
}

TEST_CASE("keys: the embedded file has no complaints") {
    CHECK(load("workloads: [{name: default, concurrency: 16, queue: 32, queue_wait: 250ms}]")
              .complaints.empty());
}

TEST_CASE("keys: max_pinned is left to the smallest pool that the workload can use") {
    const Loaded loaded = load(
        "databases: {shop: {pool_size: 5}, other: {pool_size: 3}, \"*\": {pool_size: 9}}\n"
        "workloads:\n"
        "  - {name: exact, concurrency: 1, match: {database: shop}}\n"
        "  - {name: glob, concurrency: 1, match: {database: \"sh*\"}}\n"
        "  - {name: away, concurrency: 1, match: {database: elsewhere}}\n"
        "  - {name: given, concurrency: 1, max_pinned: 1, match: {user: x}}\n"
        "  - {name: default, concurrency: 1}\n");
    REQUIRE(loaded.config.has_value());
    const std::vector<Workload>& workloads = loaded.config->workloads;
    CHECK(workloads[0].max_pinned == 4);
    CHECK(workloads[1].max_pinned == 4);
    CHECK(workloads[2].max_pinned == 8);
    CHECK(workloads[3].max_pinned == 1);
    CHECK(workloads[4].max_pinned == 2);
}

TEST_CASE("keys: a listener has the auth section's values where it says nothing itself") {
    const Loaded loaded = load(
        "listen:\n"
        "  - {name: a, address: 127.0.0.1}\n"
        "  - {name: b, address: \"::1\", auth: {timeout: 3s}}\n"
        "auth: {timeout: 7s}\n"
        "workloads: [{name: default, concurrency: 8}]\n");
    REQUIRE(loaded.config.has_value());
    CHECK(loaded.config->listen[0].auth.timeout == std::chrono::seconds(7));
    CHECK(loaded.config->listen[1].auth.timeout == std::chrono::seconds(3));
}

TEST_CASE("keys: what a file gives is what the config holds") {
    const Loaded loaded = load(
        "listen: [{name: s, unix_socket_dir: /run/x, port: 7, unix_socket_mode: \"0700\"}]\n"
        "databases: {shop: {conninfo: 'host=h', pool_wait: 0, max_lifetime: 90m}}\n"
        "workloads: [{name: default, concurrency: 8, sqlstate: 40P01}]\n"
        "limits: {high_watermark: 64KiB}\n"
        "admin: {http: null, probes: \"[::1]:9433\"}\n"
        "log: {level: debug, format: json}\n");
    REQUIRE(loaded.config.has_value());
    const Config& config = *loaded.config;
    CHECK(config.listen[0].unix_socket_mode == 0700);
    CHECK(config.databases[0].name == "shop");
    CHECK(config.databases[0].pool_wait == Duration{0});
    CHECK(config.databases[0].max_lifetime == std::chrono::minutes(90));
    CHECK(config.workloads[0].sqlstate == "40P01");
    CHECK(config.limits.high_watermark == 65536);
    CHECK_FALSE(config.admin.http.has_value());
    CHECK(config.admin.probes == Address{"::1", 9433});
    CHECK(config.log.level == LogLevel::debug);
    CHECK(config.log.format == LogFormat::json);
}

}  // namespace pgb::config::test

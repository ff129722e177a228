#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "config/codes.h"
#include "config/keys.h"
#include "config/print.h"
#include "config/values.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

constexpr const char* kReadme = "config/README.md";

/// The lines between `<!-- name -->` and `<!-- end -->` of the README are what the code says, which
/// PGBULKHEAD_WRITE_REFERENCE=1 (`scripts/reference`) puts there.
void check_block(const std::string& name, const std::string& wanted) {
    std::string readme = read_source(kReadme);
    const std::string open = "<!-- " + name + " -->\n";
    const std::size_t start = readme.find(open);
    REQUIRE(start != std::string::npos);
    const std::size_t end = readme.find("<!-- end -->", start);
    REQUIRE(end != std::string::npos);
    const std::size_t begin = start + open.size();
    if (std::getenv("PGBULKHEAD_WRITE_REFERENCE") != nullptr) {
        readme.replace(begin, end - begin, wanted);
        write_source(kReadme, readme);
    } else {
        CHECK(readme.substr(begin, end - begin) == wanted);
    }
}

std::set<std::string> refused_in_example() {
    std::set<std::string> names;
    const Loaded loaded = load(read_source("config/budgets.example.yaml"));
    for (const Complaint& complaint : loaded.complaints) {
        INFO(complaint.text());
        CHECK(complaint.code == code::kNotBuilt);
        names.insert(complaint.words.substr(1, complaint.words.find('`', 1) - 1));
    }
    return names;
}

std::string unbuilt_table() {
    const std::set<std::string> refused = refused_in_example();
    std::string result = "| key | accepted | in the example |\n|---|---|---|\n";
    for (const Section& section :
         {listener_section(), database_section(), workload_section(), top_section()}) {
        for (const Key& key : section.keys) {
            if (key.built == Built::yes) continue;
            const std::string name = full_name(section, key);
            result += "| `" + name + "` | `" + show_default(section, key) + "` | " +
                      (refused.contains(name) ? "refused" : "accepted") + " |\n";
        }
    }
    return result;
}

std::string code_table() {
    std::string result = "| code | meaning |\n|---|---|\n";
    for (const code::Entry& entry : code::kAll) {
        result += "| " + std::string(entry.code) + " | " + std::string(entry.meaning) + " |\n";
    }
    return result;
}

}  // namespace

TEST_CASE("readme: the table of keys is the one that the program prints") {
    check_block("keys", print_keys());
}

TEST_CASE("readme: the list of keys not built is what the tables and the example say") {
    check_block("not built", unbuilt_table());
}

TEST_CASE("readme: the table of codes is the program's own") { check_block("codes", code_table()); }

TEST_CASE("example: it names every key there is") {
    const std::string text = read_source("config/budgets.example.yaml");
    for (const Section& section :
         {listener_section(), database_section(), workload_section(), top_section()}) {
        for (const Key& key : section.keys) {
            const std::string leaf(key.name.substr(key.name.rfind('.') + 1));
            INFO(full_name(section, key));
            // admin.tls is null, and names its keys in the comment.
            const bool named =
                text.find(leaf + ":") != std::string::npos || key.name.starts_with("admin.tls.");
            CHECK(named);
        }
    }
}

}  // namespace pgb::config::test

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

/// The lines between `<!-- name -->` and `<!-- end -->`.
std::string block(const std::string& readme, const std::string& name) {
    const std::string open = "<!-- " + name + " -->\n";
    const std::size_t start = readme.find(open);
    REQUIRE(start != std::string::npos);
    const std::size_t end = readme.find("<!-- end -->", start);
    REQUIRE(end != std::string::npos);
    return readme.substr(start + open.size(), end - start - open.size());
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
    CHECK(block(read_source("config/README.md"), "keys") == print_keys());
}

TEST_CASE("readme: the list of keys not built is what the tables and the example say") {
    CHECK(block(read_source("config/README.md"), "not built") == unbuilt_table());
}

TEST_CASE("readme: the table of codes is the program's own") {
    CHECK(block(read_source("config/README.md"), "codes") == code_table());
}

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

#include <string>

#include "config/node.h"
#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {
namespace {

std::string repeated(std::string_view text, std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i) result += text;
    return result;
}

bool refused_as_too_large(const std::string& text) {
    const Loaded loaded = load(text);
    for (const Complaint& complaint : loaded.complaints) {
        if (complaint.code == "PGB-CFG-003") return !loaded.config.has_value();
    }
    return false;
}

}  // namespace

TEST_CASE("bounds: a document that is too large, too deep or too rich is refused") {
    CHECK(refused_as_too_large(std::string(kDocumentBytesMax + 1, '#')));
    CHECK(refused_as_too_large(repeated("[", 20) + repeated("]", 20)));
    CHECK(refused_as_too_large("a: [" + repeated("1,", kDocumentNodesMax) + "]"));
}

TEST_CASE("bounds: nesting beyond what the parser itself takes is refused and not followed") {
    CHECK_FALSE(load(repeated("[", 100000)).config.has_value());
    CHECK_FALSE(load(repeated("{a: ", 100000)).config.has_value());
    CHECK_FALSE(load(repeated("- ", 100000)).config.has_value());
}

TEST_CASE("bounds: aliases do not multiply") {
    std::string text = "a: &a [x,x,x,x,x,x,x,x,x]\n";
    for (char c = 'b'; c <= 'z'; ++c) {
        const std::string before(1, static_cast<char>(c - 1));
        text += std::string(1, c) + ": &" + c + " [" + repeated("*" + before + ",", 9) + "]\n";
    }
    const Loaded loaded = load(text);
    CHECK_FALSE(loaded.config.has_value());
    CHECK(loaded.complaints.size() < 1000);
}

TEST_CASE("bounds: the example cut at any byte is read or refused, never worse") {
    const std::string text = read_source("config/budgets.example.yaml");
    REQUIRE(text.size() > 1000);
    std::size_t refused = 0;
    for (std::size_t length = 0; length <= text.size(); ++length) {
        const Loaded loaded = load(std::string_view(text).substr(0, length));
        const bool consistent = loaded.config.has_value() != has_errors(loaded.complaints);
        if (!consistent) FAIL("cut at " << length);
        if (!loaded.config) ++refused;
    }
    CHECK(refused > 0);
}

TEST_CASE("bounds: the example with any byte changed is read or refused, never worse") {
    const std::string text = read_source("config/budgets.example.yaml");
    constexpr std::string_view kBytes("\0\t\n {}[]:-&*!|>'\"%@`#,?\xff", 24);
    for (std::size_t at = 0; at < text.size(); at += 7) {
        std::string changed = text;
        changed[at] = kBytes[at % kBytes.size()];
        const Loaded loaded = load(changed);
        if (loaded.config.has_value() == has_errors(loaded.complaints)) FAIL("changed at " << at);
    }
    SUCCEED();
}

}  // namespace pgb::config::test

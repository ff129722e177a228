#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/pool/pool_script.h"

namespace pgb::test {
namespace {

std::vector<std::filesystem::path> transcripts() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry :
         std::filesystem::directory_iterator(PGB_SOURCE_DIR "/tests/scripts/pool")) {
        if (entry.path().extension() == ".txt") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += text.empty() ? word : " " + word;
    return text;
}

// `75..125` stands for any whole number from 75 to 125.
bool matches(const std::string& actual, const std::string& expected) {
    const std::size_t dots = expected.find("..");
    if (dots == std::string::npos) return actual == expected;
    if (actual.empty() || actual.find_first_not_of("0123456789") != std::string::npos) return false;
    const long value = std::stol(actual);
    return value >= std::stol(expected.substr(0, dots)) &&
           value <= std::stol(expected.substr(dots + 2));
}

void play(const std::filesystem::path& path) {
    std::ifstream file(path);
    PoolScript script;
    std::string line;
    int number = 0;
    int steps = 0;
    while (std::getline(file, line)) {
        ++number;
        if (number == 1) {
            // The first line says what must hold.
            REQUIRE(line.starts_with("# "));
            REQUIRE(line.ends_with("."));
        }
        if (line.empty() || line[0] == '#') continue;
        const std::size_t arrow = line.find("=>");
        const std::vector<std::string> words = words_of(line.substr(0, arrow));
        const std::string expected =
            arrow == std::string::npos ? "" : joined(words_of(line.substr(arrow + 2)));
        INFO(path.filename().string() << ":" << number << ": " << line);
        std::string actual;
        try {
            actual = script.step(words);
        } catch (const std::exception& error) {
            actual = std::string("this step can't be read: ") + error.what();
        }
        INFO("expected: " << expected << "\n  actual: " << actual);
        CHECK(matches(actual, expected));
        ++steps;
    }
    REQUIRE(steps > 0);
}

}  // namespace

TEST_CASE("pool: every transcript comes out as it says", "[pool]") {
    const auto paths = transcripts();
    REQUIRE_FALSE(paths.empty());
    for (const auto& path : paths) {
        DYNAMIC_SECTION(path.stem().string()) { play(path); }
    }
}

}  // namespace pgb::test

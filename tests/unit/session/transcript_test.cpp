#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/session/session_script.h"

namespace pgb::test {
namespace {

std::vector<std::filesystem::path> transcripts() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry :
         std::filesystem::directory_iterator(PGB_SOURCE_DIR "/tests/scripts/session")) {
        if (entry.path().extension() == ".txt") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += text.empty() ? word : " " + word;
    return text;
}

void play(const std::filesystem::path& path, SessionScript::Rest rest) {
    std::ifstream file(path);
    SessionScript script(rest);
    std::string line;
    int number = 0;
    int expectations = 0;
    while (std::getline(file, line)) {
        ++number;
        if (number == 1) {
            // The first line says what must hold.
            REQUIRE(line.starts_with("# "));
            REQUIRE(line.ends_with("."));
        }
        const std::size_t arrow = line.find("=>");
        const std::vector<std::string> words = script_words(line.substr(0, arrow));
        if (words.empty() || words[0][0] == '#') continue;
        const std::string expected =
            arrow == std::string::npos ? "" : joined(script_words(line.substr(arrow + 2)));
        INFO(path.filename().string() << ":" << number << ": " << line);
        std::string actual;
        try {
            actual = script.step(words);
        } catch (const std::exception& error) {
            actual = std::string("this line can't be read: ") + error.what();
        }
        CHECK(actual == expected);
        if (!expected.empty()) ++expectations;
    }
    CHECK(expectations > 0);
}

TEST_CASE("session: every transcript comes out as it is written") {
    const auto found = transcripts();
    CHECK(found.size() >= 40);
    for (const auto& path : found) {
        INFO(path.filename().string());
        play(path, SessionScript::Rest::never);
    }
}

TEST_CASE("session: a transcript comes out the same if the session rests whenever it may") {
    for (const auto& path : transcripts()) {
        INFO(path.filename().string());
        play(path, SessionScript::Rest::always);
    }
}

}  // namespace
}  // namespace pgb::test

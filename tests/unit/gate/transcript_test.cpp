#include "tests/unit/gate/transcript.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/catch.h"

namespace pgb::test {
namespace {

std::vector<std::filesystem::path> scripts() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry :
         std::filesystem::directory_iterator(PGB_SOURCE_DIR "/tests/scripts/gate")) {
        if (entry.path().extension() == ".txt") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<std::string> run_text(const std::string& text) {
    std::istringstream script(text);
    return Transcript().run(script);
}

TEST_CASE("gate: every transcript comes out as it is written") {
    const auto found = scripts();
    REQUIRE(found.size() >= 25);
    for (const auto& path : found) {
        INFO(path.filename().string());
        std::ifstream script(path);
        REQUIRE(script.is_open());
        CHECK(Transcript().run(script) == std::vector<std::string>{});
    }
}

TEST_CASE("gate: a transcript that says something false or nothing is told so") {
    const std::string lane = "lane oltp 1 0 0\n";
    CHECK(run_text(lane + "arrive a oltp => admitted\n").empty());
    CHECK(run_text(lane + "arrive a oltp => queued\n").size() == 1);
    CHECK(run_text(lane + "arrive a oltp\n").size() == 1);
    CHECK(run_text(lane + "arrive a oltp => admitted\nrelease a => granted b\n").size() == 1);
    CHECK(run_text(lane + "arrive a oltp => admitted\nrelaese a\n").size() == 1);
    CHECK(run_text(lane + "arrive a => admitted\n").size() == 2);
    CHECK(run_text(lane).size() == 1);
}

}  // namespace
}  // namespace pgb::test

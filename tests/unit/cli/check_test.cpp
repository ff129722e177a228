#include "proxy/cli/check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/config/files.h"

namespace pgb::config::test {

TEST_CASE("check: prints the effective configuration of the embedded default and leaves with 0") {
    std::ostringstream out;
    std::ostringstream err;
    CHECK(check({Command::check, std::nullopt, false}, small_env, out, err) == kExitOk);
    CHECK(out.str().find("concurrency: 16") != std::string::npos);
    CHECK(err.str().empty());
}

TEST_CASE("check: a bad file prints its complaints and nothing else, and leaves with 2") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    const std::string path = folder / fmt::format("check_test_{}.yaml", getpid());
    std::ofstream(path) << "workloads: [{name: default, concurency: 8}]\n";
    std::ostringstream out;
    std::ostringstream err;
    CHECK(check({Command::check, path, false}, small_env, out, err) == kExitBadUsage);
    CHECK(out.str().empty());
    CHECK(err.str().find(path + ":") == 0);
    std::filesystem::remove(path);
}

TEST_CASE("check: --keys prints the table of keys") {
    std::ostringstream out;
    std::ostringstream err;
    CHECK(check({Command::check, std::nullopt, true}, small_env, out, err) == kExitOk);
    CHECK(out.str().find("| `workloads.queue_wait` |") != std::string::npos);
}

}  // namespace pgb::config::test

#include "proxy/io/file_watch.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/io/loop_runner.h"

using namespace pgb;
namespace fs = std::filesystem;

namespace {

/// A folder of its own that goes with it.
class Folder {
public:
    Folder() {
        std::string pattern = (fs::temp_directory_path() / "pgbulkhead-watch-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        // As the way to it is told: without links.
        path_ = fs::canonical(pattern);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
}

struct Watched {
    explicit Watched(const fs::path& path)
        : watch(loop, path.string(), FileState::of(path.string()),
                {.on_change = [this] { ++told; },
                 .on_trouble = [this](const std::string&, const std::string&) { ++troubles; }}) {}

    bool is_told(int count = 1) {
        return run_until(loop, [&] { return told >= count; });
    }
    /// Looks for as long as a change would need to be told.
    bool is_quiet() {
        bool over = false;
        Timer timer(loop, [&] { over = true; });
        timer.arm(loop.now() + 4 * FileWatch::kQuiet);
        return run_until(loop, [&] { return over; }) && told == 0;
    }

    Loop loop;
    int told = 0;
    int troubles = 0;
    FileWatch watch;
};

}  // namespace

TEST_CASE("file watch: what is written in place is told once it is quiet, and once") {
    Folder folder;
    write(folder / "f", "one");
    Watched watched(folder / "f");
    std::ofstream slow(folder / "f", std::ios::trunc);
    for (int part = 0; part < 3; ++part) {
        slow << "a part" << std::flush;
        run_turns(watched.loop, 3);
    }
    CHECK(watched.told == 0);
    slow.close();
    REQUIRE(watched.is_told());
    watched.told = 0;
    CHECK(watched.is_quiet());
}

TEST_CASE("file watch: a file put in place by a rename, also when it was gone, is told") {
    Folder folder;
    write(folder / "f", "one");
    Watched watched(folder / "f");
    write(folder / "new", "two");
    fs::rename(folder / "new", folder / "f");
    REQUIRE(watched.is_told());
    fs::remove(folder / "f");
    REQUIRE(watched.is_told(2));
    write(folder / "f", "three");
    REQUIRE(watched.is_told(3));
    CHECK(watched.troubles == 0);
}

TEST_CASE("file watch: a link that is turned is told, and what it leads to is watched then") {
    Folder folder;
    // As in a volume of a ConfigMap: f -> ..data/f, ..data -> ..one
    fs::create_directory(folder / "..one");
    fs::create_directory(folder / "..two");
    write(folder / "..one/f", "one");
    write(folder / "..two/f", "two");
    fs::create_directory_symlink("..one", folder / "..data");
    fs::create_symlink("..data/f", folder / "f");
    Watched watched(folder / "f");
    fs::create_directory_symlink("..two", folder / "..tmp");
    fs::rename(folder / "..tmp", folder / "..data");
    REQUIRE(watched.is_told());
    write(folder / "..two/f", "written where it is now");
    REQUIRE(watched.is_told(2));
}

TEST_CASE("file watch: other files, and what was read already, are not told") {
    Folder folder;
    write(folder / "f", "one");
    Watched watched(folder / "f");
    write(folder / "other", "two");
    write(folder / "f", "read before anybody was told");
    watched.watch.note_read();
    CHECK(watched.is_quiet());
}

TEST_CASE("file watch: what changed between the reading and the watching is told") {
    Folder folder;
    write(folder / "f", "one");
    const FileState read = FileState::of((folder / "f").string());
    write(folder / "f", "another length");
    Loop loop;
    int told = 0;
    FileWatch watch(loop, (folder / "f").string(), read,
                    {.on_change = [&] { ++told; },
                     .on_trouble = [](const std::string&, const std::string&) {}});
    CHECK(run_until(loop, [&] { return told == 1; }));
}

TEST_CASE("file watch: a folder that is not there is trouble, not the end") {
    Folder folder;
    Watched watched(folder / "gone/f");
    CHECK(watched.troubles == 0);
    fs::create_directory(folder / "gone");
    write(folder / "gone/f", "one");
    CHECK(watched.is_told());
}

TEST_CASE("file watch: the way to a file is its links, in their folders, and what is at its end") {
    Folder folder;
    fs::create_directory(folder / "a");
    fs::create_directory_symlink("a", folder / "b");
    write(folder / "a/f", "one");
    using Places = std::vector<std::pair<std::string, std::string>>;
    CHECK(way_to((folder / "b/../b/./f").string()) ==
          Places{{folder.path(), "b"}, {folder.path(), "b"}, {(folder / "a").string(), "f"}});
    fs::create_symlink("loop", folder / "loop");
    CHECK(way_to((folder / "loop").string()).size() > 10);
    CHECK(way_to((folder / "no/f").string()) == Places{{folder.path(), "no"}});
}

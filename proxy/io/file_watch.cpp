#include "proxy/io/file_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/uv_handle.h"

namespace pgb {

namespace {

namespace fs = std::filesystem;

// As many as the kernel follows.
constexpr int kLinksMax = 40;

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void put_in_front(std::deque<fs::path>& parts, const fs::path& path) {
    const std::vector<fs::path> more(path.begin(), path.end());
    parts.insert(parts.begin(), more.begin(), more.end());
}

}  // namespace

struct FileWatch::Folder {
    FileWatch& owner;
    std::string path;
    uv_fs_event_t* handle;
};

FileState FileState::of(const std::string& path) {
    struct stat found {};
    if (stat(path.c_str(), &found) != 0) return {};
    return {.device = static_cast<std::uint64_t>(found.st_dev),
            .inode = static_cast<std::uint64_t>(found.st_ino),
            .size = static_cast<std::uint64_t>(found.st_size),
            .written = nanoseconds(found.st_mtim),
            .changed = nanoseconds(found.st_ctim),
            .exists = true};
}

std::vector<std::pair<std::string, std::string>> way_to(const std::string& path) {
    std::vector<std::pair<std::string, std::string>> places;
    std::error_code error;
    std::deque<fs::path> parts;
    put_in_front(parts, fs::absolute(path, error));
    fs::path at = "/";
    int links = 0;
    while (!parts.empty()) {
        const fs::path part = parts.front();
        parts.pop_front();
        if (part.empty() || part == ".") continue;
        if (part == "/" || part == "..") {
            at = part == "/" ? part : at.parent_path();
            continue;
        }
        const fs::path here = at / part;
        const fs::file_status status = fs::symlink_status(here, error);
        const bool is_link = fs::is_symlink(status);
        if (is_link || parts.empty() || !fs::exists(status)) {
            places.emplace_back(at.string(), part.string());
        }
        if (!fs::exists(status)) return places;
        if (!is_link) {
            at = here;
            continue;
        }
        if (++links > kLinksMax) return places;
        put_in_front(parts, fs::read_symlink(here, error));
    }
    return places;
}

FileWatch::FileWatch(Loop& loop, std::string path, const FileState& known, Callbacks callbacks)
    : loop_(loop),
      path_(std::move(path)),
      known_(known),
      callbacks_(std::move(callbacks)),
      timer_(loop, [this] { look(); }) {
    watch();
    seen_ = FileState::of(path_);
    if (seen_ != known_) timer_.arm(loop_.now() + kQuiet);
}

FileWatch::~FileWatch() {
    for (const auto& folder : folders_) close_and_delete(folder->handle);
}

void FileWatch::note_read() { known_ = FileState::of(path_); }

// The way first: what happens behind this look is an event then.
void FileWatch::look() {
    watch();
    const FileState now = FileState::of(path_);
    if (now != seen_) {
        seen_ = now;
        timer_.arm(loop_.now() + kQuiet);
        return;
    }
    if (now == known_) return;
    known_ = now;
    callbacks_.on_change();
}

void FileWatch::watch() {
    std::vector<Place> places = way_to(path_);
    // A folder that was replaced by another has the same name, so what is watched is watched anew.
    for (const auto& folder : folders_) close_and_delete(folder->handle);
    folders_.clear();
    places_ = std::move(places);
    for (const auto& [path, name] : places_) {
        const auto same = [&path = path](const auto& folder) { return folder->path == path; };
        if (std::any_of(folders_.begin(), folders_.end(), same)) continue;
        auto* handle = new uv_fs_event_t;
        PGB_CHECK(uv_fs_event_init(loop_.raw(), handle) == 0);
        folders_.push_back(std::make_unique<Folder>(Folder{*this, path, handle}));
        handle->data = folders_.back().get();
        const int error = uv_fs_event_start(
            handle,
            [](uv_fs_event_t* from, const char* changed, int, int status) {
                const auto& folder = *static_cast<Folder*>(from->data);
                folder.owner.on_event(folder, changed, status);
            },
            path.c_str(), 0);
        if (error != 0) callbacks_.on_trouble(path, uv_strerror(error));
    }
}

void FileWatch::on_event(const Folder& folder, const char* name, int status) {
    // A folder that goes itself is told under its own name.
    const bool matters =
        status != 0 || name == nullptr || fs::path(folder.path).filename() == name ||
        std::find(places_.begin(), places_.end(), Place(folder.path, name)) != places_.end();
    if (matters) timer_.arm(loop_.now() + kQuiet);
}

}  // namespace pgb

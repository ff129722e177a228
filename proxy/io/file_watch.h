#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proxy/io/loop.h"

namespace pgb {

/// Which file is at a path, and whether it was written to. Equal: the same, as it was.
struct FileState {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t written = 0;  ///< In nanoseconds.
    std::int64_t changed = 0;
    bool exists = false;

    [[nodiscard]] static FileState of(const std::string& path);
    bool operator==(const FileState&) const = default;
};

/// Tells that another file, or other contents, have been at a path for kQuiet.
///
/// Watched are the folders that hold a link of the way to the file, or the file itself: so it
/// notices a file that is written in place (in however many writes), one that an editor puts in its
/// place by renaming, and a link anywhere on the way that is turned, as the `..data` of a
/// Kubernetes volume is. A file that is gone is told as well. After each change the way is looked
/// for anew.
///
///     event in a watched folder --kQuiet without another--> as it was kQuiet ago? --yes, and not
///             ^                                                   | no            known--> told
///             '----------------------- look again ----------------'
class FileWatch {
public:
    static constexpr Duration kQuiet = std::chrono::milliseconds(100);

    struct Callbacks {
        std::function<void()> on_change;
        /// A folder could not be watched (the limit of inotify): changes in it go unnoticed.
        std::function<void(const std::string& folder, const std::string& why)> on_trouble;
    };

    /// `known`: what the program has read already.
    FileWatch(Loop& loop, std::string path, const FileState& known, Callbacks callbacks);
    ~FileWatch();
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    /// What is there now is about to be read: it is not told again.
    void note_read();

private:
    struct Folder;
    /// A folder, and the name in it that matters.
    using Place = std::pair<std::string, std::string>;

    void look();
    void watch();
    void on_event(const Folder& folder, const char* name, int status);

    Loop& loop_;
    std::string path_;
    FileState known_;
    FileState seen_;  // at the last look
    Callbacks callbacks_;
    Timer timer_;
    std::vector<Place> places_;
    std::vector<std::unique_ptr<Folder>> folders_;
};

/// The folders and names on the way to a file: each link, and what it leads to in the end, or where
/// the way ends because there is nothing.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> way_to(const std::string& path);

}  // namespace pgb

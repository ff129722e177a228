#pragma once

#include <string>
#include <string_view>

#include "proxy/app/user_map.h"
#include "proxy/base/log.h"
#include "proxy/io/file_watch.h"

namespace pgb {

/// One file of a user map at run time: it is read again when it has changed. A file with a fault
/// changes nothing; its faults are logged, each with its place.
class UserMapFile {
public:
    UserMapFile(Loop& loop, Log& log, std::string path);

    [[nodiscard]] const std::string& path() const { return path_; }
    /// False: it cannot be read or has faults, which were logged.
    bool read();
    [[nodiscard]] const UserMap& map() const { return map_; }

private:
    Log& log_;
    std::string path_;
    UserMap map_;
    FileWatch watch_;
};

}  // namespace pgb

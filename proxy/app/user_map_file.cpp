#include "proxy/app/user_map_file.h"

#include <utility>

#include "proxy/app/line_faults.h"
#include "proxy/io/secret_memory.h"

namespace pgb {

namespace {
constexpr std::size_t kFileMax = std::size_t{1} << 20;
}  // namespace

UserMapFile::UserMapFile(Loop& loop, Log& log, std::string path)
    : log_(log),
      path_(std::move(path)),
      watch_(loop, path_, FileState::of(path_),
             {.on_change =
                  [this] {
                      if (read()) log_.info("user_map_reloaded", {{"file", path_}});
                  },
              .on_trouble =
                  [this](const std::string& folder, const std::string& why) {
                      log_.warn("user_map_not_watched", {{"folder", folder}, {"message", why}});
                  }}) {}

bool UserMapFile::read() {
    watch_.note_read();
    Result<SecretMemory> text = read_secret_file(path_, kFileMax);
    if (!text) {
        log_.error("user_map_failed",
                   {{"message", text.error().message}, {"note", "nothing has changed"}});
        return false;
    }
    UserMap::Parsed parsed = UserMap::parse(text->bytes());
    if (!parsed.faults.empty()) {
        log_line_faults(log_, "user_map_mistake", path_, parsed.faults);
        return false;
    }
    map_ = std::move(parsed.map);
    return true;
}

}  // namespace pgb

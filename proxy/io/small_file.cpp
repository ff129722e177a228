#include "proxy/io/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace pgb {

std::optional<std::string> read_small_file(const std::string& path, std::size_t bytes_max) {
    // A pipe or device in the place of the file would hold up whoever reads it.
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return std::nullopt;
    struct stat status {};
    std::string text(bytes_max + 1, '\0');
    std::size_t size = 0;
    bool good = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    while (good && size < text.size()) {
        const ssize_t count = read(fd, text.data() + size, text.size() - size);
        if (count == 0) break;
        if (count < 0 && errno == EINTR) continue;
        good = count > 0;
        size += good ? static_cast<std::size_t>(count) : 0;
    }
    close(fd);
    if (!good || size > bytes_max) return std::nullopt;
    text.resize(size);
    return text;
}

}  // namespace pgb

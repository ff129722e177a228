#include "proxy/io/random.h"

#include <sys/random.h>

#include <cerrno>

#include "proxy/base/check.h"

namespace pgb {

void fill_random(std::span<char> into) {
    while (!into.empty()) {
        const ssize_t count = getrandom(into.data(), into.size(), 0);
        PGB_CHECK(count > 0 || errno == EINTR);
        if (count > 0) into = into.subspan(static_cast<std::size_t>(count));
    }
}

std::string random_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    fill_random(bytes);
    return bytes;
}

}  // namespace pgb

#include "proxy/io/peer_name.h"

#include <pwd.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

namespace pgb {

namespace {
constexpr std::size_t kFirstBuffer = 1024;
constexpr std::size_t kBufferMax = std::size_t{1} << 20;
}  // namespace

std::optional<std::uint32_t> peer_user_id(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
    // Of a socket without such a peer.
    if (peer.pid == 0) return std::nullopt;
    return peer.uid;
}

std::optional<std::string> user_name(std::uint32_t user_id) {
    for (std::size_t size = kFirstBuffer; size <= kBufferMax; size *= 2) {
        std::vector<char> buffer(size);
        passwd facts{};
        passwd* found = nullptr;
        const int error = getpwuid_r(user_id, &facts, buffer.data(), buffer.size(), &found);
        if (error == ERANGE) continue;
        if (error != 0 || found == nullptr) return std::nullopt;
        return std::string(found->pw_name);
    }
    return std::nullopt;
}

}  // namespace pgb

#include "proxy/io/http_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "proxy/io/clock.h"

namespace pgb {

namespace {
// Of a request that was refused before its body was read.
constexpr std::size_t kLeftoversMax = std::size_t{64} << 10;
}  // namespace

bool HttpStream::wait_for(short events) const {
    for (;;) {
        const Duration left = deadline_ - monotonic_now();
        if (left <= Duration::zero()) return false;
        pollfd watched{.fd = fd_, .events = events, .revents = 0};
        const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        const int ready = poll(&watched, 1, static_cast<int>(milliseconds));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

bool HttpStream::is_readable() const { return begin_ < end_ || wait_for(POLLIN); }

bool HttpStream::is_writable() const { return wait_for(POLLOUT); }

ssize_t HttpStream::read(char* into, std::size_t size) {
    if (begin_ == end_) {
        if (!wait_for(POLLIN)) return -1;
        const ssize_t count = recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (count <= 0) return count;
        begin_ = 0;
        end_ = static_cast<std::size_t>(count);
    }
    const std::size_t taken = std::min(size, end_ - begin_);
    std::memcpy(into, buffer_.data() + begin_, taken);
    begin_ += taken;
    return static_cast<ssize_t>(taken);
}

ssize_t HttpStream::write(const char* from, std::size_t size) {
    for (;;) {
        if (!wait_for(POLLOUT)) return -1;
        const ssize_t count = send(fd_, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0 || (errno != EAGAIN && errno != EINTR)) return count;
    }
}

// Nobody here asks for addresses.
void HttpStream::get_remote_ip_and_port(std::string& ip, int& port) const {
    ip.clear();
    port = 0;
}

void HttpStream::get_local_ip_and_port(std::string& ip, int& port) const {
    ip.clear();
    port = 0;
}

void HttpStream::finish() {
    (void)shutdown(fd_, SHUT_WR);
    std::size_t seen = 0;
    while (seen < kLeftoversMax && wait_for(POLLIN)) {
        const ssize_t count = recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (count <= 0) break;
        seen += static_cast<std::size_t>(count);
    }
}

}  // namespace pgb

#include "proxy/io/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "proxy/base/check.h"
#include "proxy/io/loop.h"
#include "proxy/io/uv_handle.h"

namespace pgb {

namespace {

// More segments than a flush ever has; far below IOV_MAX (1024) to keep the array on the stack.
constexpr std::size_t kSegmentsMax = 64;

// One lost packet must not look like a lost peer.
constexpr std::int64_t kProbes = 3;

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

void set_int(int fd, int level, int name, int value) {
    // Fails only for a socket that is dying already, which the next read tells.
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

template <typename Unit>
int whole(Duration duration) {
    return static_cast<int>(std::chrono::ceil<Unit>(duration).count());
}

}  // namespace

namespace {

// Straight to the kernel: the C library's functions are cancellation points, which in a program of
// several threads cost two atomic exchanges each, and nobody here is ever cancelled.
ssize_t recv_now(int fd, std::span<char> into) {
    return syscall(SYS_recvfrom, fd, into.data(), into.size(), MSG_DONTWAIT, nullptr, nullptr);
}

ssize_t send_now(int fd, const iovec& bytes, int flags) {
    return syscall(SYS_sendto, fd, bytes.iov_base, bytes.iov_len, flags, nullptr, 0);
}

}  // namespace

ReadResult read_fd(int fd, std::span<char> into) {
    PGB_CHECK(!into.empty());
    for (;;) {
        const ssize_t count = recv_now(fd, into);
        if (count > 0) return {IoStatus::bytes, static_cast<std::size_t>(count)};
        if (count == 0) return {IoStatus::eof};
        if (would_block(errno)) return {IoStatus::would_block};
        if (errno != EINTR) return {IoStatus::error, 0, errno};
    }
}

WriteResult write_fd(int fd, std::span<const std::string_view> segments) {
    std::array<iovec, kSegmentsMax> vectors;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    std::size_t used = 0;
    for (const std::string_view segment : segments) {
        if (segment.empty()) continue;
        if (used == kSegmentsMax) break;
        vectors[used++] = {const_cast<char*>(segment.data()), segment.size()};
    }
    if (used == 0) return {IoStatus::would_block};
    msghdr message{};
    message.msg_iov = vectors.data();
    message.msg_iovlen = used;
    constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
    for (;;) {
        // One run of bytes is the rule; send() spares the kernel the copy of two headers.
        const ssize_t count =
            used == 1 ? send_now(fd, vectors[0], kFlags) : sendmsg(fd, &message, kFlags);
        if (count > 0) return {IoStatus::bytes, static_cast<std::size_t>(count)};
        if (count == 0 || would_block(errno)) return {IoStatus::would_block};
        if (errno != EINTR) return {IoStatus::error, 0, errno};
    }
}

void set_tcp_options(int fd, const TcpOptions& options) {
    int domain = 0;
    socklen_t length = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain == AF_UNIX) return;
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, options.keepalive ? 1 : 0);
    if (options.keepalive_idle > Duration::zero()) {
        set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, whole<std::chrono::seconds>(options.keepalive_idle));
    }
    if (options.keepalive_interval > Duration::zero()) {
        set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL,
                whole<std::chrono::seconds>(options.keepalive_interval));
    }
    if (options.keepalive_count > 0) {
        set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_count);
    }
}

void set_tcp_user_timeout(int fd, Duration timeout) {
    set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, whole<std::chrono::milliseconds>(timeout));
}

TcpOptions keepalive_options(Duration keepalive, Duration patience) {
    constexpr Duration kShortest = std::chrono::seconds(1);
    TcpOptions options;
    options.keepalive = keepalive > Duration::zero();
    options.keepalive_idle = keepalive;
    if (patience == Duration::zero()) return options;
    options.keepalive_interval = std::max(kShortest, patience / kProbes);
    options.keepalive_count = static_cast<int>(
        std::clamp<std::int64_t>(patience / options.keepalive_interval, 1, kProbes));
    return options;
}

Socket::Socket(Loop& loop, int fd, SocketEvents& events, FdOwner owner)
    : handle_(new uv_poll_t), events_(events), fd_(fd), owner_(owner) {
    // Fails only for a descriptor that is no socket or is watched twice.
    PGB_CHECK(uv_poll_init(loop.raw(), handle_, fd) == 0);
    handle_->data = this;
}

void Socket::watch(bool readable, bool writable) {
    PGB_CHECK(is_open());
    const int wanted = (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0);
    if (wanted == watched_) return;
    watched_ = static_cast<std::uint8_t>(wanted);
    if (wanted == 0) {
        uv_poll_stop(handle_);
    } else {
        uv_poll_start(handle_, wanted, on_poll);
    }
}

void Socket::on_poll(uv_poll_s* handle, int status, int events) {
    auto& socket = *static_cast<Socket*>(handle->data);
    if (status < 0) {
        // On POLLERR libuv stops the handle by itself. What the peer sent before its reset can be
        // more than one read: stay level-triggered. Readiness for writing is told as well, or a
        // side whose reading is paused would be told of the error for ever without acting on it.
        const std::uint8_t watched = socket.watched_;
        uv_poll_start(handle, watched, on_poll);
        socket.events_.on_ready(true, (watched & UV_WRITABLE) != 0);
        return;
    }
    socket.events_.on_ready((events & UV_READABLE) != 0, (events & UV_WRITABLE) != 0);
}

ReadResult Socket::read(std::span<char> into) {
    PGB_CHECK(is_open());
    return read_fd(fd_, into);
}

WriteResult Socket::write(std::span<const std::string_view> segments) {
    PGB_CHECK(is_open());
    return write_fd(fd_, segments);
}

void Socket::shutdown_write() {
    if (is_open()) (void)::shutdown(fd_, SHUT_WR);
}

void Socket::close() {
    if (!is_open()) return;
    // The watcher leaves the kernel's set in uv_close itself, so the descriptor may go at once.
    close_and_delete(handle_);
    handle_ = nullptr;
    if (owner_ == FdOwner::socket) ::close(fd_);
    fd_ = -1;
}

void Socket::abort() {
    if (!is_open()) return;
    const linger at_once{1, 0};
    (void)setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
}

}  // namespace pgb

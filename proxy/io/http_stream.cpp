#include "proxy/io/http_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

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

bool HttpStream::shake(std::shared_ptr<const TlsContext> context) {
    tls_ = std::make_unique<TlsStream>(std::move(context));
    for (;;) {
        if (!wait_for(POLLIN)) return false;
        const ReadResult read = read_fd(fd_, buffer_);
        if (read.status == IoStatus::would_block) continue;
        if (read.status != IoStatus::bytes) return false;
        tls_->feed({buffer_.data(), read.count});
        if (!tls_->has_work()) continue;
        const HandshakeStep step = tls_->advance();
        if (!send_handshake() || step == HandshakeStep::failed) return false;
        if (step == HandshakeStep::more) continue;
        tls_->attach(fd_);
        return true;
    }
}

bool HttpStream::send_handshake() {
    std::string& output = tls_->output();
    while (!output.empty()) {
        if (!wait_for(POLLOUT)) return false;
        const std::string_view segment[] = {output};
        const WriteResult written = write_fd(fd_, segment);
        if (written.status == IoStatus::error) return false;
        output.erase(0, written.count);
    }
    return true;
}

ReadResult HttpStream::receive(std::span<char> into) {
    return tls_ != nullptr ? tls_->read(into) : read_fd(fd_, into);
}

WriteResult HttpStream::send_now(std::string_view bytes) {
    return tls_ != nullptr ? tls_->write({&bytes, 1}) : write_fd(fd_, {&bytes, 1});
}

bool HttpStream::is_readable() const {
    return begin_ < end_ || (tls_ != nullptr && tls_->has_pending()) || wait_for(POLLIN);
}

bool HttpStream::is_writable() const { return wait_for(POLLOUT); }

ssize_t HttpStream::read(char* into, std::size_t size) {
    while (begin_ == end_) {
        if (!is_readable()) return -1;
        const ReadResult result = receive(buffer_);
        if (result.status == IoStatus::eof) return 0;
        if (result.status == IoStatus::error) return -1;
        begin_ = 0;
        end_ = result.count;
    }
    const std::size_t taken = std::min(size, end_ - begin_);
    std::memcpy(into, buffer_.data() + begin_, taken);
    begin_ += taken;
    return static_cast<ssize_t>(taken);
}

ssize_t HttpStream::write(const char* from, std::size_t size) {
    for (;;) {
        if (!wait_for(POLLOUT)) return -1;
        const WriteResult result = send_now({from, size});
        if (result.status == IoStatus::error) return -1;
        if (result.status == IoStatus::bytes) return static_cast<ssize_t>(result.count);
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
    if (tls_ != nullptr) tls_->say_end();
    (void)shutdown(fd_, SHUT_WR);
    std::size_t seen = 0;
    while (seen < kLeftoversMax && wait_for(POLLIN)) {
        const ssize_t count = recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (count <= 0) break;
        seen += static_cast<std::size_t>(count);
    }
}

}  // namespace pgb

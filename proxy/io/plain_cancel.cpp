#include "proxy/io/plain_cancel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "proxy/io/socket_address.h"

namespace pgb {

using namespace std::chrono_literals;

namespace {

// Protocol manual, 55.7: CancelRequest.
constexpr std::uint32_t kCancelRequestCode = 80877102;
// A Unix socket whose backlog is full says EAGAIN and no readiness tells when it is not; a guess.
constexpr Duration kRetryAfter = 5ms;

void append_u32(std::string& out, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

}  // namespace

std::string cancel_request(const CancelTarget& target) {
    std::string message;
    append_u32(message, static_cast<std::uint32_t>(12 + target.key.size()));
    append_u32(message, kCancelRequestCode);
    append_u32(message, target.pid);
    return message + target.key;
}

PlainCancel::PlainCancel(Loop& loop, const CancelTarget& target, End end)
    : loop_(loop),
      address_(target.address),
      address_length_(target.address_length),
      request_(cancel_request(target)),
      end_(std::move(end)),
      retry_(loop, [this] { start(); }) {}

void PlainCancel::start() {
    const int fd = socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fail(errno);
    if (connect(fd, as_sockaddr(address_), address_length_) != 0 && errno != EINPROGRESS) {
        const int error = errno;
        close(fd);
        if (error != EAGAIN) return fail(error);
        retry_.arm(loop_.now() + kRetryAfter);
        return;
    }
    socket_.emplace(loop_, fd, *this);
    socket_->watch(false, true);
}

void PlainCancel::on_ready(bool, bool) {
    if (!is_sent_) return send_request();
    for (;;) {
        char ignored[256];
        const ReadResult read = socket_->read(ignored);
        if (read.status == IoStatus::would_block) return;
        // A reset is a close too: what the server read it has acted on, and it reads no more.
        if (read.status != IoStatus::bytes) return finish(CancelOutcome::closed, {});
    }
}

void PlainCancel::send_request() {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket_->fd(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return fail(error);
    const std::string_view segments[] = {request_};
    const WriteResult written = socket_->write(segments);
    // The first bytes of a connection always fit; anything less has no effect at the server.
    if (written.count != request_.size()) return fail(written.error);
    is_sent_ = true;
    socket_->watch(true, false);
}

void PlainCancel::finish(CancelOutcome outcome, std::string why) {
    socket_.reset();
    end_(outcome, std::move(why));
}

void PlainCancel::fail(int error) {
    finish(CancelOutcome::failed, std::generic_category().message(error));
}

}  // namespace pgb

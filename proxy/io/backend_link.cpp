#include "proxy/io/backend_link.h"

#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/socket_address.h"

namespace pgb {

BackendLink::BackendLink(pg_conn* connection) : connection_(connection) {
    if (connection_ == nullptr || PQsslInUse(connection_) == 0) return;
    ssl_ = static_cast<ssl_st*>(PQsslStruct(connection_, "OpenSSL"));
    if (ssl_ == nullptr) return;
    SSL_set_mode(ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

BackendLink::~BackendLink() { drop(); }

BackendLink::BackendLink(BackendLink&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)),
      ssl_(std::exchange(other.ssl_, nullptr)),
      cancel_key_(std::move(other.cancel_key_)),
      cancel_tls_(std::move(other.cancel_tls_)),
      tls_writer_(other.tls_writer_) {}

BackendLink& BackendLink::operator=(BackendLink&& other) noexcept {
    if (this == &other) return *this;
    drop();
    connection_ = std::exchange(other.connection_, nullptr);
    ssl_ = std::exchange(other.ssl_, nullptr);
    cancel_key_ = std::move(other.cancel_key_);
    cancel_tls_ = std::move(other.cancel_tls_);
    tls_writer_ = other.tls_writer_;
    return *this;
}

int BackendLink::fd() const { return PQsocket(connection_); }

std::uint32_t BackendLink::pid() const {
    return static_cast<std::uint32_t>(PQbackendPID(connection_));
}

ReadResult BackendLink::read(std::span<char> into) {
    PGB_CHECK(is_open());
    return ssl_ != nullptr ? read_tls(into) : read_fd(fd(), into);
}

WriteResult BackendLink::write(std::span<const std::string_view> segments) {
    PGB_CHECK(is_open());
    return ssl_ != nullptr ? write_tls(segments) : write_fd(fd(), segments);
}

bool BackendLink::has_pending() const { return ssl_ != nullptr && SSL_pending(ssl_) > 0; }

ReadResult BackendLink::read_tls(std::span<char> into) {
    PGB_CHECK(!into.empty());
    std::size_t total = 0;
    // Until OpenSSL wants more from the socket: what it holds already, no readiness announces.
    while (total < into.size()) {
        const ReadResult read = tls_read(ssl_, into.subspan(total));
        // A failure behind good bytes shows again at the next read.
        if (read.status != IoStatus::bytes) {
            return total > 0 ? ReadResult{IoStatus::bytes, total} : read;
        }
        total += read.count;
    }
    return {IoStatus::bytes, total};
}

WriteResult BackendLink::write_tls(std::span<const std::string_view> segments) {
    return tls_writer_.write(ssl_, segments);
}

CancelTarget BackendLink::cancel_target() const {
    PGB_CHECK(is_open());
    CancelTarget target;
    target.pid = pid();
    target.key = cancel_key_;
    target.address_length = sizeof target.address;
    if (getpeername(fd(), as_sockaddr(target.address), &target.address_length) != 0) {
        target.address_length = 0;
    }
    target.tls = cancel_tls_;
    // PQcancel speaks in the clear, so a TLS backend without a known key has no cancel.
    if (target.pid != 0 && target.key.empty() && !is_tls()) {
        target.native.reset(PQgetCancel(connection_));
    }
    return target;
}

void BackendLink::goodbye() {
    if (!is_open()) return;
    // libpq waits for a full socket only in its blocking mode.
    PQsetnonblocking(connection_, 1);
    PQfinish(std::exchange(connection_, nullptr));
    ssl_ = nullptr;
}

void BackendLink::drop() {
    if (!is_open()) return;
    if (fd() >= 0) (void)::shutdown(fd(), SHUT_RDWR);
    PQfinish(std::exchange(connection_, nullptr));
    ssl_ = nullptr;
}

}  // namespace pgb

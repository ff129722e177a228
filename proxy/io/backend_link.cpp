#include "proxy/io/backend_link.h"

#include <libpq-fe.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "proxy/base/check.h"
#include "proxy/io/socket_address.h"

namespace pgb {

namespace {

// One TLS record; a write of OpenSSL's takes one record or nothing.
constexpr std::size_t kRecordMax = 16384;

/// What a failed SSL_read or SSL_write means.
ReadResult tls_failure(ssl_st* ssl, int returned, int error_number) {
    switch (SSL_get_error(ssl, returned)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: return {IoStatus::would_block};
        case SSL_ERROR_ZERO_RETURN: return {IoStatus::eof};
        case SSL_ERROR_SYSCALL:
            if (error_number == 0) return {IoStatus::eof};
            return {IoStatus::error, 0, error_number};
        default: break;
    }
    // A peer that goes without close_notify: the protocol's own framing tells whether bytes miss.
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        return {IoStatus::eof};
    }
    return {IoStatus::error, 0, EPROTO};
}

/// A cursor over segments that copies up to a record's worth of bytes together.
class Gatherer {
public:
    explicit Gatherer(std::span<const std::string_view> segments) : segments_(segments) {}

    std::size_t copy(char* into) {
        std::size_t count = 0;
        while (count < kRecordMax && !segments_.empty()) {
            const std::string_view rest = segments_.front().substr(offset_);
            const std::size_t size = std::min(rest.size(), kRecordMax - count);
            std::memcpy(into + count, rest.data(), size);
            count += size;
            offset_ += size;
            if (size == rest.size()) {
                segments_ = segments_.subspan(1);
                offset_ = 0;
            }
        }
        return count;
    }

private:
    std::span<const std::string_view> segments_;
    std::size_t offset_ = 0;
};

}  // namespace

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
      retry_size_(std::exchange(other.retry_size_, 0)) {}

BackendLink& BackendLink::operator=(BackendLink&& other) noexcept {
    if (this == &other) return *this;
    drop();
    connection_ = std::exchange(other.connection_, nullptr);
    ssl_ = std::exchange(other.ssl_, nullptr);
    cancel_key_ = std::move(other.cancel_key_);
    cancel_tls_ = std::move(other.cancel_tls_);
    retry_size_ = std::exchange(other.retry_size_, 0);
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
        ERR_clear_error();
        errno = 0;
        const int size = static_cast<int>(std::min<std::size_t>(into.size() - total, kRecordMax));
        const int count = SSL_read(ssl_, into.data() + total, size);
        if (count <= 0) {
            // A failure behind good bytes shows again at the next read.
            const ReadResult failure = tls_failure(ssl_, count, errno);
            return total > 0 ? ReadResult{IoStatus::bytes, total} : failure;
        }
        total += static_cast<std::size_t>(count);
    }
    return {IoStatus::bytes, total};
}

WriteResult BackendLink::write_tls(std::span<const std::string_view> segments) {
    char record[kRecordMax];
    std::size_t total = 0;
    Gatherer rest(segments);
    while (const std::size_t size = rest.copy(record)) {
        // OpenSSL repeats an unfinished record and refuses to be given less than it has taken.
        PGB_CHECK(size >= retry_size_);
        ERR_clear_error();
        errno = 0;
        const int count = SSL_write(ssl_, record, static_cast<int>(size));
        if (count <= 0) {
            const WriteResult failure = tls_failure(ssl_, count, errno);
            if (failure.status == IoStatus::would_block) retry_size_ = std::max(retry_size_, size);
            if (total > 0) return {IoStatus::bytes, total};
            return failure.status == IoStatus::eof ? WriteResult{IoStatus::error, 0, EPIPE}
                                                   : failure;
        }
        retry_size_ = 0;
        total += static_cast<std::size_t>(count);
        // A repeated record was shorter than what was offered: the gathered bytes behind it start
        // somewhere else now, so the caller offers them again.
        if (static_cast<std::size_t>(count) < size) break;
    }
    return total > 0 ? WriteResult{IoStatus::bytes, total} : WriteResult{IoStatus::would_block};
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

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/io/cancel_target.h"
#include "proxy/io/parameter_list.h"
#include "proxy/io/socket.h"
#include "proxy/io/tls_bytes.h"

struct pg_conn;
struct ssl_st;

namespace pgb {

/// A logged-in connection to PostgreSQL whose bytes are ours: libpq connected, authenticated and
/// stepped aside; the PGconn is kept for the connection's life. Owns the descriptor.
///
/// Watch it with Socket(loop, link.fd(), events, FdOwner::borrowed), and destroy that Socket
/// before the link: closing frees the number, which the kernel hands out again.
///
/// Be strict with the first bytes after login: a partial message that libpq had read before it
/// stepped aside can't be seen through its interface, and the stream would start in mid-message.
class BackendLink {
public:
    BackendLink() = default;
    explicit BackendLink(pg_conn* connection);
    /// Drops the connection: shutdown() first, as PQfinish sends a Terminate, which would be read
    /// as data in mid-message and blocks on a full socket.
    ~BackendLink();
    BackendLink(BackendLink&& other) noexcept;
    BackendLink& operator=(BackendLink&& other) noexcept;

    [[nodiscard]] bool is_open() const { return connection_ != nullptr; }
    [[nodiscard]] int fd() const;
    /// The process id of the backend, as BackendKeyData tells it; 0 when the server sent none.
    [[nodiscard]] std::uint32_t pid() const;
    [[nodiscard]] bool is_tls() const { return ssl_ != nullptr; }

    /// As Socket::read and Socket::write. Under TLS read() fills the span as far as whole records
    /// allow, and what write() did not take must be offered again first and unchanged.
    [[nodiscard]] ReadResult read(std::span<char> into);
    [[nodiscard]] WriteResult write(std::span<const std::string_view> segments);
    /// Bytes lie in the TLS layer that no readiness of the descriptor will announce: read again
    /// (Loop::again()). Always false without TLS and after a read that ended in would_block.
    [[nodiscard]] bool has_pending() const;

    /// What a cancel of this backend needs; stays valid after the link has gone. Can be asked
    /// again and again.
    [[nodiscard]] CancelTarget cancel_target() const;
    /// The key as BackendKeyData told it: 4 bytes, or empty when the server sent none or libpq
    /// does not show it.
    void set_cancel_key(std::string key) { cancel_key_ = std::move(key); }
    [[nodiscard]] const std::string& cancel_key() const { return cancel_key_; }

    /// How a cancel gets the TLS of this connection (tls_cancel_options); null without TLS.
    void set_cancel_tls(std::shared_ptr<const ParameterList> options) {
        cancel_tls_ = std::move(options);
    }

    /// Gives libpq's connection away, for good: the caller closes it.
    [[nodiscard]] pg_conn* release() {
        ssl_ = nullptr;
        return std::exchange(connection_, nullptr);
    }
    /// Says Terminate, which PostgreSQL reads as a wish and not as an accident, and closes. Only
    /// for an idle backend with nothing of ours unsent. Never blocks.
    void goodbye();
    /// Closes without a word; what the destructor does.
    void drop();

private:
    ReadResult read_tls(std::span<char> into);
    WriteResult write_tls(std::span<const std::string_view> segments);

    pg_conn* connection_ = nullptr;
    ssl_st* ssl_ = nullptr;
    std::string cancel_key_;
    std::shared_ptr<const ParameterList> cancel_tls_;
    TlsWriter tls_writer_{TlsWriter::kLongestRecord};
};

}  // namespace pgb

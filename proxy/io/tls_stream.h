#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "proxy/io/socket.h"
#include "proxy/io/tls_bytes.h"
#include "proxy/io/tls_context.h"

struct bio_st;
struct ssl_st;

namespace pgb {

/// Who a client is by its certificate, which an authority of `client_ca` has signed.
struct TlsPeer {
    bool is_verified = false;        ///< False: it has shown none; the rest is empty.
    std::string common_name;         ///< The first CN of the subject.
    std::string distinguished_name;  ///< The whole subject, as RFC 2253 writes it.
};

enum class HandshakeStep : std::uint8_t {
    more,    ///< It waits for bytes of the client.
    done,    ///< Both sides have said all.
    failed,  ///< error() has the words; what output there is, an alert, is the last.
};

/// The server side of one TLS connection.
///
///     made --feed, advance, take_output...--> done --attach--> read, write, end
///                     \--> failed
///
/// Until attach() it touches memory only, no descriptor: whoever owns it carries bytes in and out,
/// and may have advance() done by another thread, since that is what costs (a signature is 0.1 to
/// 5 ms of processor time). From attach() on it reads and writes the socket itself. Used by one
/// thread at a time.
class TlsStream {
public:
    /// Records that a client is sent hold at most so much: libpq reads 8 KiB at a time, and one that
    /// waits for its socket in between would wait for ever for the rest of a longer record. The same
    /// as PostgreSQL's.
    static constexpr std::size_t kRecordMax = 8192;
    /// More than any handshake with a chain of certificates needs.
    static constexpr std::size_t kHandshakeMax = std::size_t{128} << 10;

    explicit TlsStream(std::shared_ptr<const TlsContext> context);
    ~TlsStream();
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    // --- The handshake

    /// Takes what the client has sent.
    void feed(std::string_view bytes);
    /// Whether advance() has anything to do: a whole record, or something that is none.
    [[nodiscard]] bool has_work() const;
    /// Goes on with the handshake as far as the bytes lead. Only when has_work().
    HandshakeStep advance();
    /// What is to be sent, to be dropped from the front as far as it was.
    [[nodiscard]] std::string& output();
    /// Why it failed.
    [[nodiscard]] const std::string& error() const { return error_; }
    /// The client has named our protocol by ALPN.
    [[nodiscard]] bool has_alpn() const;

    // --- The connection

    /// Reads and writes `fd`, which it does not own, from now on. After `done`, output() sent.
    void attach(int fd);
    /// As Socket::read and Socket::write; TlsWriter tells what a write demands. Never waits for the
    /// other direction: a connection that would is an error.
    [[nodiscard]] ReadResult read(std::span<char> into);
    [[nodiscard]] WriteResult write(std::span<const std::string_view> segments);
    /// Bytes lie here that no readiness of the descriptor will announce: read again.
    [[nodiscard]] bool has_pending() const { return has_pending_; }
    /// Says close_notify, once, if it can be said: nothing follows from us. Never blocks.
    void say_end();

    [[nodiscard]] TlsPeer peer() const;
    [[nodiscard]] const TlsContext& context() const { return *context_; }
    /// `TLSv1.3` and the like, and the cipher.
    [[nodiscard]] std::string_view version() const;
    [[nodiscard]] std::string_view cipher() const;

private:
    struct Wire;

    HandshakeStep fail(std::string words);
    ReadResult read_records(std::span<char> into);

    std::shared_ptr<const TlsContext> context_;
    std::unique_ptr<Wire> wire_;
    ssl_st* ssl_;
    std::string error_;
    TlsWriter writer_{kRecordMax};
    int held_error_ = 0;  // of a read that had brought bytes before
    bool has_pending_ = false;
    bool is_broken_ = false;  // nothing more can be said
    bool end_said_ = false;
};

}  // namespace pgb

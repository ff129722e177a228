#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "proxy/io/socket.h"
#include "proxy/io/tls_stream.h"

namespace pgb {

/// A client's connection, plain or TLS, with the interface of a Socket: who reads and writes does not
/// care which it is. Plain it costs a pointer and a comparison.
///
///     plain --begin_tls--> shaking <--take_back(more)-- calculating
///                            |  '-----lend()----------------^ |
///                            |                                '--take_back(done or failed)
///                            '<---------------------------------------' |
///        tls, or closed by its owner <--exchange(): all is sent---------'
///
/// In `shaking` and `calculating` only exchange(), lend(), take_back() and close() may be called.
class ClientLink {
public:
    ClientLink(Loop& loop, int fd, SocketEvents& events) : socket_(loop, fd, events) {}
    ~ClientLink() { close(); }
    ClientLink(const ClientLink&) = delete;
    ClientLink& operator=(const ClientLink&) = delete;

    /// As the Socket's.
    void watch(bool readable, bool writable) {
        reads_ = readable;
        socket_.watch(readable, writable);
    }
    [[nodiscard]] ReadResult read(std::span<char> into) {
        return tls_ == nullptr ? socket_.read(into) : tls_->read(into);
    }
    [[nodiscard]] WriteResult write(std::span<const std::string_view> segments) {
        return tls_ == nullptr ? socket_.write(segments) : tls_->write(segments);
    }
    /// Under TLS with a close_notify in front.
    void shutdown_write();
    void close();
    [[nodiscard]] bool is_open() const { return socket_.is_open(); }
    [[nodiscard]] int fd() const { return socket_.fd(); }

    /// Reading is watched, and bytes lie in the TLS layer that no readiness of the descriptor will
    /// announce: read again, or they may lie there for ever.
    [[nodiscard]] bool has_pending() const {
        return state_ == State::tls && reads_ && tls_->has_pending();
    }

    [[nodiscard]] bool is_tls() const { return state_ == State::tls; }
    /// Between begin_tls() and the end of the handshake.
    [[nodiscard]] bool is_handshaking() const {
        return state_ == State::shaking || state_ == State::calculating;
    }
    /// The connection's TLS: null unless is_tls(). From it come what branches of authentication
    /// need: peer() and context().end_point_hash().
    [[nodiscard]] const TlsStream* tls() const { return is_tls() ? tls_.get() : nullptr; }

    // --- The handshake

    /// What comes next from the client is TLS; `received` of it was read already.
    void begin_tls(std::unique_ptr<TlsStream> stream, std::string_view received);

    enum class Exchange : std::uint8_t {
        wait,       ///< For the client; it watches what is needed.
        calculate,  ///< lend() the stream to whoever does advance().
        open,       ///< The handshake is over: is_tls().
        ended,      ///< It has failed and the alert was sent, or the client is gone: close.
    };
    /// Sends and reads what the handshake needs and can be had now. Called after begin_tls() and
    /// take_back(), and at each readiness until it is over; a no-op (`wait`) while it is lent.
    [[nodiscard]] Exchange exchange();
    /// The stream, for one advance(). Nothing is watched until it is back.
    [[nodiscard]] std::unique_ptr<TlsStream> lend();
    void take_back(std::unique_ptr<TlsStream> stream, HandshakeStep step);
    /// Why the handshake failed; empty: it did not, the client went.
    [[nodiscard]] std::string_view handshake_error() const {
        return tls_ == nullptr ? std::string_view() : tls_->error();
    }

private:
    enum class State : std::uint8_t { plain, shaking, calculating, tls };

    [[nodiscard]] bool receive();
    [[nodiscard]] IoStatus flush();

    Socket socket_;
    std::unique_ptr<TlsStream> tls_;
    State state_ = State::plain;
    HandshakeStep step_ = HandshakeStep::more;
    bool reads_ = false;
};

}  // namespace pgb

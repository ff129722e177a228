#pragma once

#include <httplib.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/base/instant.h"
#include "proxy/io/tls_stream.h"

namespace pgb {

/// One HTTP connection with an end: whatever its peer does, no call comes back later than
/// `deadline`. httplib's own stream has a timeout for each read, so that a peer that sends a byte
/// a second would hold a worker for as long as it likes.
class HttpStream final : public httplib::Stream {
public:
    HttpStream(int fd, Instant deadline) : fd_(fd), deadline_(deadline) {}

    /// Makes it HTTPS. False: the handshake has failed, or not come to its end in time.
    bool shake(std::shared_ptr<const TlsContext> context);

    [[nodiscard]] bool is_readable() const override;
    [[nodiscard]] bool is_writable() const override;
    ssize_t read(char* into, std::size_t size) override;
    ssize_t write(const char* from, std::size_t size) override;
    void get_remote_ip_and_port(std::string& ip, int& port) const override;
    void get_local_ip_and_port(std::string& ip, int& port) const override;
    [[nodiscard]] socket_t socket() const override { return fd_; }

    /// Ends our direction and reads what is left of the request: a close with unread input would be
    /// a reset, which takes the answer from a peer that has not read it yet.
    void finish();
    /// What carries the connection on when somebody else takes its descriptor; null without TLS.
    [[nodiscard]] std::unique_ptr<TlsStream> release_tls() { return std::move(tls_); }

private:
    [[nodiscard]] bool wait_for(short events) const;
    [[nodiscard]] bool send_handshake();
    [[nodiscard]] ReadResult receive(std::span<char> into);
    [[nodiscard]] WriteResult send_now(std::string_view bytes);

    int fd_;
    Instant deadline_;
    std::unique_ptr<TlsStream> tls_;
    // httplib reads byte by byte.
    std::array<char, 4096> buffer_{};
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace pgb

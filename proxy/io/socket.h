#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "proxy/base/instant.h"

struct uv_poll_s;

namespace pgb {

class Loop;

enum class IoStatus : std::uint8_t {
    bytes,        ///< `count` bytes were moved, at least one.
    would_block,  ///< Nothing now; readiness will tell.
    eof,          ///< The peer has ended its direction. Never a write's status.
    error,        ///< `error` is the errno; the connection is of no use any more.
};

/// What one system call did.
struct ReadResult {
    IoStatus status = IoStatus::would_block;
    std::size_t count = 0;
    int error = 0;
};
using WriteResult = ReadResult;

/// Told when a socket is ready. Errors and hang-ups come as readable (and as writable where that
/// is watched), so that read() or write() tells which. As long as nobody acts they come every turn.
/// The socket may be closed or destroyed inside the call.
struct SocketEvents {
    virtual void on_ready(bool readable, bool writable) = 0;

protected:
    ~SocketEvents() = default;
};

enum class FdOwner : std::uint8_t {
    socket,    ///< The socket closes the descriptor.
    borrowed,  ///< Somebody else does (a BackendLink), and outlives this object.
};

/// One descriptor watched by the loop: level-triggered readiness, no buffer, no allocation per
/// event. 24 bytes here and libuv's 160 on the heap, so that thousands of idle ones stay cheap.
///
/// A change of what is watched costs two epoll_ctl: watch once and keep it (idle backends and
/// queued frontends included); change only for back-pressure.
class Socket {
public:
    /// Takes a connected, non-blocking descriptor. Nothing is watched yet.
    Socket(Loop& loop, int fd, SocketEvents& events, FdOwner owner = FdOwner::socket);
    ~Socket() { close(); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    /// What to be told. Does nothing when the set is the same as before.
    void watch(bool readable, bool writable);

    /// One recv(). An empty span is a bug.
    [[nodiscard]] ReadResult read(std::span<char> into);
    /// One sendmsg() of the segments in order; what the kernel did not take is the caller's to keep.
    /// At most the first 64 segments are looked at. No segments or empty ones only: would_block.
    [[nodiscard]] WriteResult write(std::span<const std::string_view> segments);

    /// Ends our direction: the peer reads to the end and then sees EOF.
    void shutdown_write();
    /// Stops watching and, when it owns the descriptor, closes it. Unread input turns a TCP close
    /// into a reset; read to EOF first where the peer must still see our last bytes.
    void close();
    /// close() that sends a reset: the peer loses what it has not read.
    void abort();

    [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
    [[nodiscard]] int fd() const { return fd_; }

private:
    static void on_poll(uv_poll_s* handle, int status, int events);

    uv_poll_s* handle_;
    SocketEvents& events_;
    int fd_;
    std::uint8_t watched_ = 0;
    FdOwner owner_;
};

/// recv() and sendmsg() on a descriptor, as Socket does them.
[[nodiscard]] ReadResult read_fd(int fd, std::span<char> into);
[[nodiscard]] WriteResult write_fd(int fd, std::span<const std::string_view> segments);

/// How soon a peer that is sent nothing counts as gone. Zero: the kernel's own value.
struct TcpOptions {
    bool keepalive = true;
    Duration keepalive_idle{0};      ///< TCP_KEEPIDLE, rounded up to seconds.
    Duration keepalive_interval{0};  ///< TCP_KEEPINTVL, rounded up to seconds.
    int keepalive_count = 0;         ///< TCP_KEEPCNT.
};

/// A peer that has said nothing for `keepalive` is asked, and is gone if it gives no answer within
/// `patience`, in which it is asked up to three times. Zero: never asked; the kernel's own patience.
[[nodiscard]] TcpOptions keepalive_options(Duration keepalive, Duration patience);

/// Sets TCP_NODELAY and the options; does nothing on a Unix socket.
void set_tcp_options(int fd, const TcpOptions& options);
/// The kernel ends the connection when sent bytes stay unacknowledged, or unread behind a full
/// window, for so long: only for a peer that nobody waits for any more (tcp_silence.h tells why).
void set_tcp_user_timeout(int fd, Duration timeout);

}  // namespace pgb

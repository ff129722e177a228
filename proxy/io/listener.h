#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/base/result.h"
#include "proxy/io/inherited_sockets.h"
#include "proxy/io/loop.h"
#include "proxy/io/socket.h"

namespace pgb {

/// Where to listen for TCP. `host` is an address, a name (all its addresses are taken) or `*`.
/// Port 0 lets the kernel choose; Listener::port() tells.
struct TcpEndpoint {
    std::string host;
    std::uint16_t port = 0;
};

/// Where to listen on a Unix socket: `<directory>/.s.PGSQL.<port>`, as libpq looks for it.
struct UnixEndpoint {
    std::string directory;
    std::uint16_t port = 0;
    unsigned mode = 0777;
};

/// A connection that was accepted; the descriptor is non-blocking, close-on-exec, and the
/// receiver's to close.
struct AcceptedConnection {
    int fd = -1;
    /// `192.0.2.1:5000`, `[2001:db8::1]:5000`, or `unix:pid=4711,uid=1000`.
    std::string peer;
};

struct ListenerCallbacks {
    std::function<void(AcceptedConnection)> on_accept;
    /// Accepting failed, with the errno; at most once in ten seconds, with the number of failures
    /// since the last report. The listener goes on by itself.
    std::function<void(int error, std::uint64_t count)> on_trouble;
};

/// A door: hands out accepted connections in the phase of the events, at most 64 a turn for each
/// address.
///
/// Out of descriptors (EMFILE, ENFILE): a spare one is given up so that a pending connection can
/// be accepted and closed instead of hanging unanswered, and the door stays shut for 100 ms.
class Listener final {
public:
    /// What listens there among the `inherited` is taken over and outlives the listener.
    static Result<std::unique_ptr<Listener>> open(Loop& loop, const TcpEndpoint& endpoint,
                                                  ListenerCallbacks callbacks,
                                                  InheritedSockets* inherited = nullptr);
    /// A socket file that nobody answers on is replaced; one that somebody answers on is an error.
    static Result<std::unique_ptr<Listener>> open(Loop& loop, const UnixEndpoint& endpoint,
                                                  ListenerCallbacks callbacks,
                                                  InheritedSockets* inherited = nullptr);

    Listener(Loop& loop, ListenerCallbacks callbacks);
    /// Stops listening; removes the socket file if it is still the one that was made.
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    /// Hands out all who wait in the queue of a socket of our own, as its end would reset them.
    void accept_waiting();

    /// The TCP port, also when the kernel chose it; the number in the file's name for Unix.
    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// What is listened on, for the log: `127.0.0.1:6432`, `/run/x/.s.PGSQL.6432`.
    [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }

private:
    class Door;

    void add(int fd, std::string address, bool is_inherited);
    bool accept_one(int listening_fd);
    void refuse_one(int listening_fd);
    void report(int error);
    void back_off();
    void reopen();

    Loop& loop_;
    ListenerCallbacks callbacks_;
    std::vector<std::unique_ptr<Door>> doors_;
    std::vector<std::string> addresses_;
    Timer reopen_timer_;
    int spare_fd_;
    std::uint16_t port_ = 0;
    std::string unix_path_;
    std::uint64_t unix_inode_ = 0;
    std::uint64_t trouble_count_ = 0;
    Instant next_report_;
};

}  // namespace pgb

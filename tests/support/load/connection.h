#pragma once

#include <string>
#include <string_view>

#include "proxy/base/instant.h"
#include "tests/support/load/loop.h"
#include "tests/support/load/target.h"
#include "tests/support/load/wire.h"

namespace pgb::load {

class Connection;

/// What a connection tells its owner. From inside any of these the owner may send, close or open.
class ConnectionHandler {
public:
    /// Login has ended with the first ReadyForQuery.
    virtual void on_ready() = 0;
    /// Each message after login.
    virtual void on_message(const Message& message) = 0;
    /// The peer closed, or could not be reached, or refused the login: `error` holds its last
    /// ErrorResponse, with an empty SQLSTATE when it said nothing. The connection is closed and may
    /// be opened again.
    virtual void on_lost(bool was_logged_in, const ErrorFields& error) = 0;

protected:
    ~ConnectionHandler() = default;
};

/// How a client leaves.
enum class Goodbye { terminate, fin, reset };

/// One frontend connection with trust login.
///
///   closed --open--> connecting --writable--> greeting --ReadyForQuery--> ready
///     ^                  |                       |                          |
///     '----- close(), or on_lost() when the peer ended it ------------------'
///
/// Sends at once and keeps only what the kernel did not take. Never deletes itself and never
/// calls its handler from within open(), send() or close().
class Connection final : private Watcher {
public:
    Connection(Loop& loop, Target target, ConnectionHandler& handler);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    void open();
    /// Bytes sent while not ready are lost with the connection; the caller waits for on_ready().
    void send(std::string_view bytes);
    void close(Goodbye goodbye);

    [[nodiscard]] bool is_ready() const { return state_ == State::ready; }
    [[nodiscard]] bool is_closed() const { return state_ == State::closed; }
    /// The transaction status of the last ReadyForQuery: I, T or E.
    [[nodiscard]] char transaction_status() const { return transaction_status_; }
    [[nodiscard]] CancelKey cancel_key() const { return cancel_key_; }
    [[nodiscard]] const Target& target() const { return target_; }

private:
    enum class State { closed, connecting, greeting, ready };

    void on_io(std::uint32_t epoll_events) override;
    void finish_connect();
    void read_some();
    void deliver_messages();
    void greet(const Message& message);
    void write_pending();
    void watch_writable(bool wanted);
    void release_socket();
    void lose(const ErrorFields& error);
    [[nodiscard]] ErrorFields take_last_error(const char* otherwise);

    Loop& loop_;
    Target target_;
    ConnectionHandler& handler_;
    Timer failed_open_;
    State state_ = State::closed;
    int fd_ = -1;
    bool watches_writable_ = false;
    char transaction_status_ = 'I';
    CancelKey cancel_key_;
    MessageReader reader_;
    std::string pending_;
    ErrorFields last_error_;
};

}  // namespace pgb::load

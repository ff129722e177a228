#include "tests/support/load/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace pgb::load {
namespace {

ErrorFields local_error(std::string message) {
    ErrorFields error;
    error.message = std::move(message);
    return error;
}

// libpq tries a Unix socket whose backlog is full no second time, and neither does this client;
// the owner hears of it a moment later, as open() calls nobody.
constexpr Duration kTellFailedOpenAfter = std::chrono::microseconds(100);

}  // namespace

Connection::Connection(Loop& loop, Target target, ConnectionHandler& handler)
    : loop_(loop),
      target_(std::move(target)),
      handler_(handler),
      failed_open_(loop, [this] { lose(take_last_error("not connected")); }) {}

Connection::~Connection() { release_socket(); }

void Connection::open() {
    release_socket();
    reader_.reset();
    pending_.clear();
    last_error_ = {};
    transaction_status_ = 'I';
    state_ = State::connecting;
    const Result<int> socket = start_connect(target_);
    if (!socket) {
        last_error_ = local_error(socket.error().message);
        failed_open_.arm_after(kTellFailedOpenAfter);
        return;
    }
    fd_ = *socket;
    watches_writable_ = true;
    loop_.watch(fd_, EPOLLIN | EPOLLOUT, *this);
}

void Connection::close(Goodbye goodbye) {
    failed_open_.disarm();
    if (fd_ >= 0 && goodbye == Goodbye::terminate && state_ == State::ready) {
        std::string bytes;
        frontend::terminate(bytes);
        send(bytes);
    }
    if (fd_ >= 0 && goodbye == Goodbye::reset) {
        const linger at_once{1, 0};
        setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    release_socket();
    state_ = State::closed;
}

void Connection::send(std::string_view bytes) {
    if (fd_ < 0) return;
    if (!pending_.empty() || state_ == State::connecting) {
        pending_.append(bytes);
        return;
    }
    const ssize_t written = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno != EAGAIN && errno != EINTR) return;  // the read side will tell
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    if (bytes.empty()) return;
    pending_.append(bytes);
    watch_writable(true);
}

void Connection::on_io(std::uint32_t epoll_events) {
    if (fd_ < 0) return;
    if (state_ == State::connecting) {
        if ((epoll_events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) finish_connect();
        return;
    }
    if ((epoll_events & EPOLLOUT) != 0) write_pending();
    if ((epoll_events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) read_some();
}

void Connection::finish_connect() {
    int code = 0;
    socklen_t size = sizeof(code);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) {
        lose(local_error(std::string("connect: ") + std::strerror(code)));
        return;
    }
    std::vector<frontend::Parameter> parameters = {{"user", target_.user},
                                                   {"database", target_.database}};
    if (!target_.options.empty()) parameters.push_back({"options", target_.options});
    if (!target_.application_name.empty()) {
        parameters.push_back({"application_name", target_.application_name});
    }
    std::string bytes;
    frontend::startup(bytes, parameters);
    state_ = State::greeting;
    watch_writable(false);
    send(bytes);
}

void Connection::read_some() {
    std::array<char, 16384> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): read into
    const ssize_t count = recv(fd_, chunk.data(), chunk.size(), 0);
    if (count > 0) {
        reader_.feed(std::string_view(chunk.data(), static_cast<std::size_t>(count)));
        deliver_messages();
        return;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count == 0) {
        lose(take_last_error("closed by the peer"));
        return;
    }
    lose(take_last_error(std::strerror(errno)));
}

// The handler may close and open again between two messages: the reader is then a new one in the
// same place, and empty, so the loop ends.
void Connection::deliver_messages() {
    while (fd_ >= 0) {
        const std::optional<Message> message = reader_.next();
        if (!message) break;
        last_error_ = message->type == 'E' ? parse_error(message->body) : ErrorFields{};
        if (message->type == 'Z' && !message->body.empty()) {
            transaction_status_ = message->body.front();
        }
        if (state_ == State::ready) {
            handler_.on_message(*message);
        } else {
            greet(*message);
        }
    }
    if (fd_ >= 0 && reader_.is_broken()) lose(local_error("not a PostgreSQL stream"));
}

void Connection::greet(const Message& message) {
    if (message.type == 'K') cancel_key_ = parse_cancel_key(message.body);
    if (message.type != 'Z') return;
    state_ = State::ready;
    handler_.on_ready();
}

void Connection::write_pending() {
    const std::string bytes = std::exchange(pending_, {});
    watch_writable(false);
    send(bytes);
}

void Connection::watch_writable(bool wanted) {
    if (watches_writable_ == wanted) return;
    watches_writable_ = wanted;
    loop_.change(fd_, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, *this);
}

void Connection::release_socket() {
    if (fd_ < 0) return;
    loop_.unwatch(fd_);
    ::close(fd_);
    fd_ = -1;
}

// Taken out, as the handler of a loss may open the connection again, which forgets it.
ErrorFields Connection::take_last_error(const char* otherwise) {
    if (last_error_.message.empty()) return local_error(otherwise);
    return std::exchange(last_error_, {});
}

void Connection::lose(const ErrorFields& error) {
    const bool was_logged_in = state_ == State::ready;
    release_socket();
    state_ = State::closed;
    handler_.on_lost(was_logged_in, error);
}

}  // namespace pgb::load

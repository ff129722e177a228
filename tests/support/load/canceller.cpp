#include "tests/support/load/canceller.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

namespace pgb::load {

class Canceller::Shot final : public Watcher {
public:
    explicit Shot(Loop& loop) : loop_(loop) {}
    Shot(const Shot&) = delete;
    Shot& operator=(const Shot&) = delete;
    ~Shot() { end(); }

    [[nodiscard]] bool is_in_flight() const { return fd_ >= 0; }

    bool start(const Target& target, CancelKey key) {
        const Result<int> socket = start_connect(target);
        if (!socket) return false;
        fd_ = *socket;
        request_.clear();
        frontend::cancel_request(request_, key);
        loop_.watch(fd_, EPOLLOUT, *this);
        return true;
    }

    void on_io(std::uint32_t) override {
        if (fd_ < 0) return;
        if (!request_.empty()) {
            send_request();
            return;
        }
        std::array<char, 16> ignored{};
        const ssize_t count = recv(fd_, ignored.data(), ignored.size(), 0);
        if (count == 0 || (count < 0 && errno != EAGAIN)) end();
    }

private:
    // Sixteen bytes fit into any fresh socket's buffer.
    void send_request() {
        const ssize_t count = ::send(fd_, request_.data(), request_.size(), MSG_NOSIGNAL);
        request_.clear();
        if (count < 0) {
            end();
            return;
        }
        loop_.change(fd_, EPOLLIN, *this);
    }

    void end() {
        if (fd_ < 0) return;
        loop_.unwatch(fd_);
        ::close(fd_);
        fd_ = -1;
    }

    Loop& loop_;
    int fd_ = -1;
    std::string request_;
};

Canceller::Canceller(Loop& loop) : loop_(loop) {}
Canceller::~Canceller() = default;

void Canceller::fire(const Target& target, CancelKey key) {
    auto free = std::find_if(shots_.begin(), shots_.end(),
                             [](const auto& shot) { return !shot->is_in_flight(); });
    if (free == shots_.end()) {
        shots_.push_back(std::make_unique<Shot>(loop_));
        free = shots_.end() - 1;
    }
    if ((*free)->start(target, key)) ++fired_count_;
}

std::size_t Canceller::in_flight_count() const {
    return static_cast<std::size_t>(std::count_if(
        shots_.begin(), shots_.end(), [](const auto& shot) { return shot->is_in_flight(); }));
}

}  // namespace pgb::load

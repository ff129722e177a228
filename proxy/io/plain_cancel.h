#pragma once

#include <optional>
#include <string>

#include "proxy/io/cancel_errand.h"
#include "proxy/io/loop.h"
#include "proxy/io/socket.h"

namespace pgb {

/// A CancelRequest over TCP or a Unix socket, for backends whose own connection is open.
///
///     CONNECTING --writable--> SENT --EOF or reset--> closed
///       ^   |
///       |   '--refused--> failed
///       '------ a Unix socket's backlog is full: again soon
class PlainCancel final : public CancelErrand, public SocketEvents {
public:
    PlainCancel(Loop& loop, const CancelTarget& target, End end);
    ~PlainCancel() override = default;

    void start() override;
    [[nodiscard]] bool may_have_arrived() const override { return is_sent_; }

private:
    void on_ready(bool readable, bool writable) override;
    void send_request();
    void finish(CancelOutcome outcome, std::string why);
    void fail(int error);

    Loop& loop_;
    sockaddr_storage address_;
    socklen_t address_length_;
    std::string request_;
    End end_;
    Timer retry_;
    std::optional<Socket> socket_;
    bool is_sent_ = false;
};

}  // namespace pgb

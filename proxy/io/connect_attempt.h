#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "proxy/io/backend_connector.h"
#include "proxy/io/connect_plan.h"
#include "proxy/io/connect_trace.h"
#include "proxy/io/name_lookup.h"
#include "proxy/io/socket.h"

struct pg_result;

namespace pgb {

using ConnectResult = std::variant<ConnectedBackend, ConnectFailure>;

/// One login, on the connector's loop.
///
///     RESOLVING --addresses known--> POLLING --CONNECTION_OK--> settled --> connected
///         |                             |                          |
///         '--no host has an address-----+--refused, timeout--------'--a word too much--> failed
///
/// `finish` is called once, from start() or from an event; the attempt must not be destroyed
/// inside it, but at the end of that turn.
class ConnectAttempt final : public SocketEvents {
public:
    using Finish = std::function<void(ConnectAttempt&, ConnectResult)>;

    ConnectAttempt(Loop& loop, ConnectRequest request, Finish finish);
    virtual ~ConnectAttempt();
    ConnectAttempt(const ConnectAttempt&) = delete;
    ConnectAttempt& operator=(const ConnectAttempt&) = delete;

    void start();
    [[nodiscard]] std::uint64_t id() const { return request_.id; }
    [[nodiscard]] bool is_finished() const { return finished_; }

private:
    void on_ready(bool readable, bool writable) override;
    void on_timer();

    void start_lookups();
    void on_lookup(std::size_t host, NameLookup::Answer answer);
    void fail_lookup(std::size_t host, const std::string& reason);
    void open();
    void look_and_poll();
    void poll();
    void wait_for(bool readable, bool writable);
    void arm_timer();
    [[nodiscard]] bool is_at_last_address() const;

    [[nodiscard]] std::optional<ConnectFailure> settle();
    void succeed();
    void fail_with_libpq();
    void fail(ConnectFailure failure);
    void stop();

    static void on_notice(void* attempt, const pg_result* notice);

    Loop& loop_;
    ConnectRequest request_;
    Finish finish_;
    Timer timer_;
    Timer look_again_;
    Instant deadline_;
    Duration slice_{0};

    ConnectOptions options_;
    std::vector<ConnectHost> hosts_;
    std::vector<NameLookup::Answer> answers_;
    std::vector<std::unique_ptr<NameLookup>> lookups_;
    std::size_t lookups_left_ = 0;
    std::string lookup_complaint_;

    pg_conn* connection_ = nullptr;
    ConnectTrace trace_;
    std::optional<Socket> socket_;
    ConnectFailure bad_notice_;
    bool finished_ = false;
};

}  // namespace pgb

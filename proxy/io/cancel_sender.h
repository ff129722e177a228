#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "proxy/io/cancel_target.h"
#include "proxy/io/loop.h"

namespace pgb {

enum class CancelOutcome : std::uint8_t {
    /// PostgreSQL has read the request and closed: the signal is sent, and no later one will come.
    closed,
    /// The server can't be cancelled (no BackendKeyData): nothing was sent.
    no_key,
    /// The request did not reach the server; it had no effect.
    failed,
    /// Nobody closed in time: a signal may still come. Such a backend must not be lent again.
    timed_out,
};

/// Sends CancelRequests (protocol manual, 55.2.8) without ever blocking the loop.
///
/// A backend whose cancel is in flight must not be lent: the signal goes to the process, whatever
/// it runs by then. So `done` comes only when PostgreSQL has closed the cancel connection.
///
/// A TLS backend's cancel goes through libpq's PQcancel on libuv's thread pool. libpq 15 sends it
/// in the clear, as every libpq before 17 does; the key is worth as much as that connection.
class CancelSender {
public:
    using Done = std::function<void(CancelOutcome)>;

    explicit CancelSender(Loop& loop, std::size_t in_flight_max = 16);
    /// Forgets what is in flight and queued: those `done` never come.
    ~CancelSender();
    CancelSender(const CancelSender&) = delete;
    CancelSender& operator=(const CancelSender&) = delete;

    /// Calls `done` exactly once, on the loop, after send() has returned. `timeout` counts from
    /// now, a wait for one of the `in_flight_max` places included. The queue is bounded by the
    /// caller: one cancel for each backend at most.
    void send(CancelTarget target, Duration timeout, Done done);

    [[nodiscard]] std::size_t in_flight_count() const { return running_.size(); }
    [[nodiscard]] std::size_t queued_count() const { return queue_.size(); }

private:
    class Flight;

    void start_next();
    void finish(Flight& flight, CancelOutcome outcome);

    Loop& loop_;
    std::size_t in_flight_max_;
    std::vector<std::unique_ptr<Flight>> running_;
    std::deque<std::unique_ptr<Flight>> queue_;
    // A flight ends inside its own timer, so it dies in the reaper's.
    std::vector<std::unique_ptr<Flight>> ended_;
    Timer reaper_;
};

}  // namespace pgb

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proxy/io/cancel_errand.h"
#include "proxy/io/loop.h"

namespace pgb {

/// Sends CancelRequests (protocol manual, 55.2.8) without ever blocking the loop.
///
/// A backend whose cancel is in flight must not be lent: the signal goes to the process, whatever
/// it runs by then. So `done` comes only when PostgreSQL has closed the cancel connection.
///
/// A cancel is as well protected as the backend's own connection: TLS for TLS, or none at all.
class CancelSender {
public:
    /// `why` says in one line, without secrets, what went wrong; empty for `closed`.
    using Done = std::function<void(CancelOutcome, const std::string& why)>;

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
    void finish(Flight& flight, CancelOutcome outcome, const std::string& why);

    Loop& loop_;
    std::size_t in_flight_max_;
    std::vector<std::unique_ptr<Flight>> running_;
    std::deque<std::unique_ptr<Flight>> queue_;
    // A flight ends inside its own timer, so it dies in the reaper's.
    std::vector<std::unique_ptr<Flight>> ended_;
    Timer reaper_;
};

}  // namespace pgb

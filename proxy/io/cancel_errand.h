#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "proxy/io/cancel_target.h"

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

/// One CancelRequest on its way: a connection of its own, the request, the server's close.
///
/// `end` is called at most once, from start() or from an event, and the errand must not be
/// destroyed inside it. It knows no deadline: whoever has waited enough destroys it, which closes
/// its connection, and asks may_have_arrived() before.
class CancelErrand {
public:
    /// `why` is one line without secrets, empty for `closed`.
    using End = std::function<void(CancelOutcome, std::string why)>;

    CancelErrand() = default;
    virtual ~CancelErrand() = default;
    CancelErrand(const CancelErrand&) = delete;
    CancelErrand& operator=(const CancelErrand&) = delete;

    virtual void start() = 0;
    /// A byte of the request has left: the signal may come, now or after the errand is gone.
    [[nodiscard]] virtual bool may_have_arrived() const = 0;
};

/// The message (protocol manual, 55.7: CancelRequest): the process id and a key of any length.
[[nodiscard]] std::string cancel_request(const CancelTarget& target);

}  // namespace pgb

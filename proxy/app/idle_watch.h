#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "proxy/base/instant.h"

namespace pgb {

/// When to look next at which client, for `limits.client_idle_timeout`. A client is looked at once
/// in that time at most, however much it does: its activity costs nothing here. Whoever looks adds
/// it again, for the end of its present silence.
class IdleWatch {
public:
    /// Zero: off; nothing is kept.
    explicit IdleWatch(Duration timeout) : timeout_(timeout) {}

    /// The client has been silent since then, or may become so.
    void add(std::uint64_t frontend, Instant since) {
        if (timeout_ > Duration::zero()) looks_.emplace(since + timeout_, frontend);
    }
    /// Takes one that is to be looked at now; 0: none.
    [[nodiscard]] std::uint64_t take_due(Instant now) {
        if (now < next_deadline()) return 0;
        const std::uint64_t frontend = looks_.top().second;
        looks_.pop();
        return frontend;
    }
    [[nodiscard]] Duration timeout() const { return timeout_; }
    [[nodiscard]] Instant next_deadline() const {
        return looks_.empty() ? Instant::never() : looks_.top().first;
    }
    [[nodiscard]] bool is_over(Instant since, Instant now) const { return now >= since + timeout_; }

private:
    using Look = std::pair<Instant, std::uint64_t>;
    std::priority_queue<Look, std::vector<Look>, std::greater<>> looks_;
    Duration timeout_;
};

}  // namespace pgb

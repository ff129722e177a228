#pragma once

#include <cstdint>

#include "proxy/base/instant.h"
#include "proxy/pool/jitter.h"
#include "proxy/pool/pool_types.h"

namespace pgb {

/// When the next connect may begin, for all groups of one pool together: they share one server.
///
///                     failed                    retry_at reached, one attempt begins
///   reachable ---------------------> backing off ----------------------------------> probing
///       ^  ^                             ^  |  ^                                      |   |
///       |  `---- succeeded, answered ----|--'  `------------- failed, twice as long --'   |
///       `--------------------------------|------------------- succeeded, answered --------'
///
/// Attempts that were under way together count as one failure: else a burst of refused connects
/// would wait for as long as that many failures in a row.
class ConnectPacing {
public:
    explicit ConnectPacing(const PoolSettings& settings);

    /// `under_way`: connects and swaps that have not ended.
    [[nodiscard]] bool may_begin(std::uint32_t under_way, Instant now) const {
        return under_way < (reachable_ ? connecting_max_ : 1) && now >= retry_at_;
    }
    void set_connecting_max(std::uint32_t most) { connecting_max_ = most; }
    /// An attempt begins; its number is given back with a failure.
    [[nodiscard]] std::uint32_t begin() const { return failures_in_a_row_; }

    void succeeded();
    /// The server spoke and refused this group for good, which says nothing against trying others.
    void answered() { reachable_ = true; }
    void failed(std::uint32_t attempt, ConnectTrouble trouble, Instant now);

    [[nodiscard]] bool reachable() const { return reachable_; }
    /// The first failure of those in a row; never() while it is reachable.
    [[nodiscard]] Instant unreachable_since() const {
        return reachable_ ? Instant::never() : unreachable_since_;
    }
    [[nodiscard]] bool backing_off(Instant now) const { return now < retry_at_; }
    /// Of the latest failure.
    [[nodiscard]] const ConnectTrouble& trouble() const { return trouble_; }
    /// In the past when no backoff is under way.
    [[nodiscard]] Instant retry_at() const { return retry_at_; }

private:
    Duration delay();

    Duration first_;
    Duration max_;
    std::uint32_t connecting_max_;
    Jitter jitter_;
    bool reachable_ = true;
    Instant unreachable_since_;
    std::uint32_t failures_in_a_row_ = 0;
    Instant retry_at_;
    ConnectTrouble trouble_;
};

/// PostgreSQL has no connection left for us: somebody may well give one back within pool_wait.
[[nodiscard]] inline bool is_worth_a_wait(const ConnectTrouble& trouble) {
    return trouble.sqlstate == "53300";
}

}  // namespace pgb

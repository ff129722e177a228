#include "proxy/pool/connect_pacing.h"

#include <algorithm>
#include <utility>

#include "proxy/base/check.h"

namespace pgb {

namespace {
constexpr std::uint32_t kBackoffJitterPercent = 25;
}  // namespace

ConnectPacing::ConnectPacing(const PoolSettings& settings)
    : first_(settings.backoff_first),
      max_(settings.backoff_max),
      connecting_max_(settings.connecting_max),
      jitter_(settings.jitter_seed) {
    PGB_CHECK(first_ > Duration{0} && max_ >= first_ && connecting_max_ > 0);
}

void ConnectPacing::succeeded() {
    reachable_ = true;
    failures_in_a_row_ = 0;
    retry_at_ = Instant{};
}

void ConnectPacing::failed(std::uint32_t attempt, ConnectTrouble trouble, Instant now) {
    if (reachable_) unreachable_since_ = now;
    reachable_ = false;
    trouble_ = std::move(trouble);
    if (attempt != failures_in_a_row_) return;
    ++failures_in_a_row_;
    retry_at_ = now + delay();
}

Duration ConnectPacing::delay() {
    Duration wait = first_;
    for (std::uint32_t failure = 1; failure < failures_in_a_row_ && wait < max_; ++failure) {
        wait = wait > max_ / 2 ? max_ : wait * 2;
    }
    return jitter_.around(std::min(wait, max_), kBackoffJitterPercent);
}

}  // namespace pgb

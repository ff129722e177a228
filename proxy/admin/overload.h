#pragma once

#include <cstddef>
#include <vector>

#include "proxy/base/instant.h"

namespace pgb {

/// When an overload begins, by workload. An episode begins with the first refusal for want of room
/// after kQuiet without one, and lasts as long as refusals follow each other more closely; so there
/// is at most one beginning in kQuiet. Pure.
class OverloadWatch {
public:
    static constexpr Duration kQuiet = std::chrono::seconds(30);

    explicit OverloadWatch(std::size_t workload_count)
        : last_refusal_(workload_count, Instant::never()) {}

    /// There are more workloads now.
    void set_workload_count(std::size_t count) { last_refusal_.resize(count, Instant::never()); }

    /// True: an episode begins.
    bool on_refusal(std::size_t workload, Instant now) {
        Instant& last = last_refusal_[workload];
        const bool begins = last.is_never() || now - last >= kQuiet;
        last = now;
        return begins;
    }

    /// never(): it has refused nobody.
    [[nodiscard]] Instant last_refusal(std::size_t workload) const {
        return last_refusal_[workload];
    }

private:
    std::vector<Instant> last_refusal_;  // never(): none yet
};

}  // namespace pgb

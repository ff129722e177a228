#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/load/loop.h"
#include "tests/support/load/target.h"
#include "tests/support/load/wire.h"

namespace pgb::load {

/// Sends CancelRequests, each on a connection of its own that is kept until the peer closes it.
class Canceller {
public:
    explicit Canceller(Loop& loop);
    Canceller(const Canceller&) = delete;
    Canceller& operator=(const Canceller&) = delete;
    ~Canceller();

    void fire(const Target& target, CancelKey key);
    [[nodiscard]] std::uint64_t fired_count() const { return fired_count_; }
    [[nodiscard]] std::size_t in_flight_count() const;

private:
    class Shot;

    Loop& loop_;
    std::vector<std::unique_ptr<Shot>> shots_;  // reused: a watcher lives as long as the loop
    std::uint64_t fired_count_ = 0;
};

}  // namespace pgb::load

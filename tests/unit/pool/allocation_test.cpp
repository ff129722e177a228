#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "proxy/pool/pool.h"
#include "tests/support/catch.h"

namespace {
std::size_t allocation_count = 0;
}  // namespace

void* operator new(std::size_t size) {
    ++allocation_count;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
// All forms together, or the address sanitizer sees memory of one go through another.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocation_count;
    return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace pgb {
namespace {

// Six transactions of two workloads and two groups share four backends: lends at once, waits, lends
// by tick() and a waiter that leaves.
class Round {
public:
    explicit Round(Pool& pool) : pool_(pool), one_(pool.join("one")), two_(pool.join("two")) {
        out_.reserve(64);
    }
    ~Round() {
        pool_.leave(one_);
        pool_.leave(two_);
    }

    void play() {
        for (std::size_t i = 0; i < waiters_.size(); ++i) {
            pool_.ask(waiters_[i], i % 2 == 0 ? one_ : two_, static_cast<WorkloadIndex>(i / 3),
                      now_, out_);
        }
        pool_.forget_waiter(waiters_[5]);
        while (!carry_out()) {
            now_ = now_ + std::chrono::milliseconds(1);
            pool_.tick(now_, out_);
        }
    }

private:
    // True when nobody waits and nothing is lent.
    bool carry_out() {
        for (const PoolAction& action : out_) {
            if (action.kind == PoolActionKind::connect) pool_.on_connected(action.backend, now_);
            if (action.kind == PoolActionKind::close) pool_.on_gone(action.backend, now_);
            if (action.kind == PoolActionKind::lend) pool_.give_back(action.backend, now_);
        }
        out_.clear();
        return pool_.waiting_count() == 0 && pool_.counts().of(BackendState::lent) == 0;
    }

    Pool& pool_;
    GroupId one_;
    GroupId two_;
    std::array<PoolWaiter, 6> waiters_;
    std::vector<PoolAction> out_;
    Instant now_;
};

}  // namespace

TEST_CASE("pool: asking, waiting, lending and giving back allocate nothing after a warm-up",
          "[pool]") {
    PoolSettings settings;
    settings.size = 4;
    settings.pool_wait = std::chrono::seconds(1);
    settings.connecting_max = 4;
    Pool pool(settings, {{4, 0}, {4, 0}});
    Round round(pool);
    for (int i = 0; i < 10; ++i) round.play();
    const std::size_t before = allocation_count;
    for (int i = 0; i < 1000; ++i) round.play();
    CHECK(allocation_count == before);
    CHECK(pool.totals().lends >= 5000);
}

}  // namespace pgb

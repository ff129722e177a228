#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "proxy/pool/pool.h"

namespace pgb::test {

/// A driver without a network, with random sessions and a random PostgreSQL, that keeps its own
/// books of what the pool said and compares them after every step. One seed, one run.
class PoolModel {
public:
    explicit PoolModel(std::uint32_t seed);
    ~PoolModel();

    void step();
    /// Another P, other waits and budgets.
    void reload();
    /// Everything comes back and nobody asks any more: all books must be empty.
    void wind_down();

    [[nodiscard]] std::uint64_t lends() const { return pool_->totals().lends; }
    [[nodiscard]] std::uint64_t swaps() const { return pool_->totals().swaps; }
    [[nodiscard]] std::uint64_t failures() const { return pool_->totals().connect_failures; }
    [[nodiscard]] std::uint64_t refusals() const { return refusals_; }

private:
    enum class Doing { nothing, waiting, logging_in, running, holding };
    struct Session : PoolWaiter {
        std::size_t group = 0;
        WorkloadIndex workload = 0;
        Doing doing = Doing::nothing;
        BackendId backend;
        bool pinned = false;
        std::uint64_t number = 0;  // order of asking
        WorkloadIndex pin_workload = 0;
    };
    struct Known {
        BackendState state = BackendState::connecting;
        std::size_t group = 0;
        Session* session = nullptr;
    };
    using Key = std::pair<std::uint32_t, std::uint32_t>;

    static constexpr std::size_t kGroups = 4;

    void act_for(Session& session);
    void act_for_idle(Session& session);
    void act_for_running(Session& session);
    void act_for_holding(Session& session);
    void lose(Session& session);
    void unpin(Session& session);
    void act_for_postgresql();
    void connect_ends(Key key, Known& known);
    void pass_time();
    void tick();

    void carry_out();
    void carry_out(const PoolAction& action);
    void on_lend(const PoolAction& action);
    void check_order(const Session& lent);
    void check_books();
    void check_after_tick();
    [[nodiscard]] bool goes_before(const Session& one, const Session& other) const;
    [[nodiscard]] bool below_share(WorkloadIndex workload) const;
    [[nodiscard]] std::uint32_t lent(WorkloadIndex workload) const;
    [[nodiscard]] std::uint32_t count(BackendState state) const;
    [[nodiscard]] std::uint32_t count(BackendState state, std::size_t group) const;
    std::uint32_t random(std::uint32_t below) { return static_cast<std::uint32_t>(rng_() % below); }
    bool one_in(std::uint32_t times) { return random(times) == 0; }

    std::mt19937 rng_;
    PoolSettings settings_;
    std::vector<PoolWorkload> workloads_;
    std::unique_ptr<Pool> pool_;
    std::array<GroupId, kGroups> groups_{};
    std::vector<std::unique_ptr<Session>> sessions_;
    std::map<Key, Known> backends_;
    std::vector<PoolAction> out_;
    Instant now_;
    std::uint64_t asked_ = 0;
    std::uint64_t refusals_ = 0;
    std::uint32_t most_ = 0;       // backends there may be: P, or what was above it when it fell
    std::uint32_t most_pins_ = 0;  // the same
    std::uint32_t trouble_ = 0;    // in a hundred: connects that fail
};

}  // namespace pgb::test

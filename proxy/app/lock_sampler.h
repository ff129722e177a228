#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/model.h"
#include "proxy/admin/holders.h"
#include "proxy/io/backend_connector.h"
#include "proxy/io/query_link.h"
#include "proxy/metrics/counters.h"
#include "proxy/pool/process_watch.h"

namespace pgb {

class Database;
class Server;

/// Looks, over one connection of its own outside P, at what PostgreSQL says of one entry's
/// backends: who waits for whose lock, who is idle in a transaction, and which orphan has ended.
///
///      .------------- interval, or back-off after trouble --------------.
///      v                                                                |
///   resting --no link--> connecting --login----------------------> resting
///      '-----link------> asked --answer, trouble, kAnswerTimeout--------'
///
/// Nobody waits for it: while it has trouble nothing is known of locks, orphans are held for
/// orphan_hold, and everything else goes on. Trouble is logged when it begins and when it ends.
class LockSampler {
public:
    LockSampler(Server& server, Database& database, const config::LockSampler& rules);

    /// There are more workloads now.
    void set_workload_count(std::size_t count) { sampled_.resize(count); }
    void on_connected(ConnectedBackend connected);
    void on_connect_failed(const ConnectFailure& failure);

    /// What was seen of the backend's process at the last look; nullptr: nothing.
    [[nodiscard]] const ProcessWatch::Sight* sight_of(BackendId backend) const {
        return watch_.sight_of(backend);
    }
    /// For whom a process was seen to wait at the last look.
    [[nodiscard]] std::vector<LockHolder> waits_for(std::uint32_t pid) const;
    /// The permit holders of a workload, as the looks showed them.
    [[nodiscard]] const SampledHolders& sampled(WorkloadIndex workload) const {
        return sampled_[workload];
    }
    /// Since its last look nothing has gone wrong.
    [[nodiscard]] bool is_working() const { return health_ == Health::working; }
    [[nodiscard]] std::uint64_t failures() const { return failures_; }

private:
    enum class State : std::uint8_t { resting, connecting, asked };
    enum class Health : std::uint8_t { untried, working, failing };

    void on_timer();
    void connect();
    void look();
    void on_answer(const QueryAnswer& answer);
    void take(const QueryAnswer& answer);
    void count(Instant now);
    void rest(Duration pause);
    void note_trouble(const std::string& why);

    Server& server_;
    Database& database_;
    const config::LockSampler& rules_;
    Timer timer_;
    std::unique_ptr<QueryLink> link_;  // destroyed by the timer only, never inside its own call
    State state_ = State::resting;
    ProcessWatch watch_;
    std::vector<AskedProcess> asked_;
    Instant asked_at_;
    Instant counted_at_ = Instant::never();
    std::unordered_map<std::uint32_t, std::vector<LockHolder>> lock_holders_;  // by waiter's pid
    std::vector<SampledHolders> sampled_;                                      // by workload
    Duration pause_{0};
    Health health_ = Health::untried;
    std::uint64_t failures_ = 0;
};

}  // namespace pgb

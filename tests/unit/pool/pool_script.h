#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/pool/pool.h"

namespace pgb::test {

/// Plays a transcript against a Pool, step by step. Times are milliseconds since the start.
///
///   pool P [wait=] [house=] [connecting=] [idle=] [lifetime=]   first line; 0 or absent: off
///   workload NAME B [PINNED_MAX] [closed]                 before any other step; one of the name
///                                                         housekeeping is that, and waits `house`
///   resize P [wait=] …   again NAME B [PINNED_MAX] [closed]   a reload: settings, one workload
///   at MS                                                 the clock
///   join G   leave G   greeting G => known|unknown
///   ask WAITER G WORKLOAD   login WAITER G   forget WAITER
///   tick
///   connected B   failed B SQLSTATE [permanent]           `-`: no SQLSTATE
///   give_back B   keep B   take B WORKLOAD   closing B   orphaned B   gone B
///   pin WORKLOAD => yes|no   unpin WORKLOAD               yes: reserved
///   counts => idle=1 lent=2 …                             of the states that are not 0
///   waiting => N   lent WORKLOAD => N   total NAME => N   reachable => yes|no
///   deadline => MS | MS..MS | never
///
/// Backends are named b1, b2 … in the order of their connects. Actions read:
///   connect b1 g, close b1, lend w b1, refuse w pool_timeout, refuse w backend_down 57P03, greet w,
///   forget g
class PoolScript {
public:
    PoolScript();
    ~PoolScript();

    /// Does one step and says what came of it.
    std::string step(const std::vector<std::string>& words);

private:
    using Words = std::vector<std::string>;

    std::string configure(const Words& words);
    void read_settings(const Words& words);
    static PoolWorkload read_workload(const Words& words);
    std::string ask_something(const Words& words);
    bool do_group_step(const Words& words);
    bool do_backend_step(const Words& words);
    [[nodiscard]] std::string total(const std::string& name) const;
    std::string render_actions();
    std::string render(const PoolAction& action);
    std::string name_of(BackendId id);

    Pool& pool();
    PoolWaiter& waiter(const std::string& name);
    [[nodiscard]] GroupId group(const std::string& name) const { return groups_.at(name); }
    [[nodiscard]] BackendId backend(const std::string& name) const { return backends_.at(name); }
    [[nodiscard]] WorkloadIndex workload(const std::string& name) const;

    PoolSettings settings_;
    std::vector<PoolWorkload> workloads_;
    std::vector<std::string> workload_names_;
    std::unique_ptr<Pool> pool_;
    std::vector<PoolAction> out_;
    std::map<std::string, std::unique_ptr<PoolWaiter>> waiters_;
    std::map<std::string, GroupId> groups_;
    std::map<GroupId, std::string> group_names_;
    std::map<std::string, BackendId> backends_;
    Instant now_;
};

}  // namespace pgb::test

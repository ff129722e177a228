// What the live page is shown, made on the loop whenever somebody looks.

#include "proxy/admin/live_state.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "proxy/app/server.h"
#include "proxy/io/clock.h"

namespace pgb {

namespace {

// The oldest; who wants more asks for the holders.
constexpr std::size_t kHoldersOnPage = 25;
constexpr std::size_t kPoolsOnPage = 50;

}  // namespace

// Groups that differ in their startup parameters only are one to people.
void Database::list_pools(std::vector<PoolView>& out) const {
    std::map<std::pair<std::string_view, std::string_view>, PoolView> views;
    for (const auto& [number, facts] : groups_) {
        const PoolGroupCounts counts = pool_.group_counts(GroupId{number});
        PoolView& view = views[{facts.database, facts.user}];
        view.entry = entry_.name;
        view.database = facts.database;
        view.user = facts.user;
        view.sessions += counts.sessions;
        view.waiting += counts.waiting;
        view.backends.resize(kBackendStateCount);
        for (std::size_t state = 0; state < kBackendStateCount; ++state) {
            view.backends[state].word = kBackendStateWords[state];
            view.backends[state].count += counts.backends.of(static_cast<BackendState>(state));
        }
    }
    for (auto& [names, view] : views) out.push_back(std::move(view));
}

void Database::note_reachability() const {
    server_.chronicle().note_reachable(entry_.name, pool_.reachable(), pool_.last_trouble().message,
                                       unix_seconds());
}

// Nobody looks while nobody watches, so an end is told with the next look, and with its own time.
void Server::end_overload(std::size_t workload, Instant last_refusal) {
    const auto ago = std::chrono::duration<double>(loop_.now() - last_refusal);
    chronicle_.overload_ended(workload, config().workloads[workload].name,
                              unix_seconds() - ago.count());
}

void Server::note_ended_overloads() {
    const std::vector<std::size_t> overloaded = chronicle_.overloaded();
    for (const std::size_t workload : overloaded) {
        const Instant last = overloads_.last_refusal(workload);
        if (loop_.now() - last >= OverloadWatch::kQuiet) end_overload(workload, last);
    }
}

void Server::begin_overload(std::size_t workload, ShedReason reason, Instant refusal_before) {
    if (chronicle_.is_overloaded(workload)) end_overload(workload, refusal_before);
    const LaneId lane{static_cast<std::uint16_t>(workload)};
    const LaneStats& stats = gate_.stats(lane);
    const LaneBudget& budget = gate_.budget(lane);
    chronicle_.overload_began(
        workload, std::string(gate_.name(lane)),
        std::string(to_word(reason)) + ": running " + std::to_string(stats.running) + " of " +
            std::to_string(budget.concurrency) + ", waiting " + std::to_string(stats.waiting) +
            " of " + std::to_string(budget.queue),
        unix_seconds());
}

LiveState Server::live_state() {
    note_ended_overloads();
    LiveState state{.made = loop_.now(),
                    .unix_seconds = unix_seconds(),
                    .instance = started_unix_seconds_,
                    .snapshot = make_snapshot(),
                    .facts = {},
                    .paused = {},
                    .window = {},
                    .pools = {},
                    .pools_left_out = 0,
                    .holders = holders(std::nullopt, kHoldersOnPage),
                    .events = chronicle_.latest(Chronicle::kEventsMax)};
    const std::vector<RecentTimes::Recent> recent = recent_times_.look(times_, loop_.now());
    state.window = recent_times_.window();
    for (std::size_t i = 0; i < times_.size(); ++i) {
        const LaneId lane{static_cast<std::uint16_t>(i)};
        state.facts.push_back({.queue_wait = gate_.budget(lane).queue_wait,
                               .is_housekeeping = i == housekeeping(),
                               .recent = recent[i]});
    }
    for (const auto& database : databases_) {
        state.paused.push_back(database->pool().is_paused());
        database->list_pools(state.pools);
    }
    std::stable_sort(state.pools.begin(), state.pools.end(),
                     [](const PoolView& a, const PoolView& b) { return a.sessions > b.sessions; });
    if (state.pools.size() > kPoolsOnPage) {
        state.pools_left_out = state.pools.size() - kPoolsOnPage;
        state.pools.resize(kPoolsOnPage);
    }
    return state;
}

}  // namespace pgb

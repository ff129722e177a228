#include "proxy/admin/live_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "proxy/admin/statement_mask.h"

namespace pgb {

namespace {

using Json = nlohmann::ordered_json;

// Whoever has missed as many in a second has missed nothing that matters.
constexpr std::size_t kEventsInStream = 20;

double seconds(Duration duration) {
    return std::chrono::duration<double>(std::max(duration, Duration::zero())).count();
}

Json to_json(const std::vector<WordCount>& counts) {
    Json json = Json::object();
    for (const WordCount& each : counts) json[std::string(each.word)] = each.count;
    return json;
}

Json to_json(const Percentiles& times) {
    const auto value = [](const std::optional<Duration>& time) {
        return time ? Json(seconds(*time)) : Json();
    };
    return {{"count", times.count}, {"p50", value(times.p50)}, {"p99", value(times.p99)}};
}

std::string_view mode_of(const WorkloadSnapshot& workload) {
    for (const WordCount& mode : workload.modes) {
        if (mode.count != 0) return mode.word;
    }
    return "unknown";
}

Json to_json(const WorkloadSnapshot& workload, const WorkloadFacts& facts) {
    return {{"name", workload.name},
            {"listed", workload.listed},
            {"housekeeping", facts.is_housekeeping},
            {"mode", mode_of(workload)},
            {"concurrency", workload.concurrency},
            {"queue", workload.queue},
            {"queue_wait_seconds", seconds(facts.queue_wait)},
            {"running", workload.running},
            {"waiting", workload.waiting},
            {"parked", workload.parked},
            {"peak_running", workload.peak_running},
            {"peak_waiting", workload.peak_waiting},
            {"pinned", workload.pinned},
            {"orphaned", workload.orphaned},
            {"arrived", workload.arrived},
            {"admitted", workload.admitted},
            {"retries", workload.retries},
            {"rejected", to_json(workload.rejected)},
            {"shadow_running", workload.shadow_running},
            {"shadow_waiting", workload.shadow_waiting},
            {"would_reject", to_json(workload.would_reject)},
            {"cancelled_while_queued", workload.cancelled_while_queued},
            {"left_while_queued", workload.left_while_queued},
            {"wait_seconds", to_json(facts.recent.wait)},
            {"hold_seconds", to_json(facts.recent.hold)}};
}

Json to_json(const DatabaseSnapshot& database, bool paused) {
    return {{"name", database.name},         {"pool_size", database.pool_size},
            {"waiting", database.waiting},   {"backends", to_json(database.backends)},
            {"connects", database.connects}, {"connect_failures", database.connect_failures},
            {"reachable", !database.outage}, {"paused", paused}};
}

Json to_json(const PoolView& pool) {
    return {{"entry", pool.entry},     {"database", pool.database},
            {"user", pool.user},       {"sessions", pool.sessions},
            {"waiting", pool.waiting}, {"backends", to_json(pool.backends)}};
}

Json to_json(const Holder& holder, Instant now) {
    Json waits_for = Json::array();
    for (const LockHolder& each : holder.waits_for) waits_for.push_back(each.pid);
    return {{"workload", holder.workload},
            {"state", to_word(holder.state)},
            {"age_seconds", seconds(now - holder.granted_at)},
            {"state_seconds", seconds(now - holder.state_since)},
            {"pid", holder.pid},
            {"database", holder.database},
            {"user", holder.user},
            {"client", holder.client},
            {"application_name", holder.application_name},
            {"statement", mask_statement(holder.statement, holder.statement_whole)},
            {"waits_for", std::move(waits_for)}};
}

Json to_json(const Event& event) {
    return {{"number", event.number},      {"at", event.at},
            {"kind", to_word(event.kind)}, {"trouble", is_trouble(event.kind)},
            {"subject", event.subject},    {"text", event.text}};
}

Json holders_json(const HolderList& list) {
    Json holders = Json::array();
    for (const Holder& each : list.holders) holders.push_back(to_json(each, list.made));
    return {{"left_out", list.left_out}, {"oldest", std::move(holders)}};
}

// Removed ones stay until they have nothing left.
bool is_of_interest(const WorkloadSnapshot& workload) {
    return workload.listed || workload.running + workload.waiting + workload.parked > 0;
}

Json to_json(const LiveState& state, Duration age, std::size_t event_count) {
    const Snapshot& snapshot = state.snapshot;
    Json json = {{"version", snapshot.version},
                 {"instance", state.instance},
                 {"at", state.unix_seconds},
                 {"age_seconds", seconds(age)},
                 {"uptime_seconds", snapshot.uptime_seconds},
                 {"readiness", to_word(snapshot.readiness)},
                 {"clients", snapshot.clients},
                 {"startup_sessions", snapshot.startup_sessions},
                 {"last_reload_succeeded", snapshot.reloads.last_succeeded},
                 {"live_changes", snapshot.reloads.live_changes},
                 {"restart_needed", snapshot.reloads.restart_needed},
                 {"window_seconds", seconds(state.window)},
                 {"workloads", Json::array()},
                 {"databases", Json::array()},
                 {"pools", Json::array()},
                 {"pools_left_out", state.pools_left_out},
                 {"holders", holders_json(state.holders)},
                 {"events", Json::array()}};
    for (std::size_t i = 0; i < snapshot.workloads.size(); ++i) {
        if (!is_of_interest(snapshot.workloads[i])) continue;
        json["workloads"].push_back(to_json(snapshot.workloads[i], state.facts[i]));
    }
    for (std::size_t i = 0; i < snapshot.databases.size(); ++i) {
        json["databases"].push_back(to_json(snapshot.databases[i], state.paused[i]));
    }
    for (const auto& each : state.pools) json["pools"].push_back(to_json(each));
    for (std::size_t i = 0; i < std::min(event_count, state.events.size()); ++i) {
        json["events"].push_back(to_json(state.events[i]));
    }
    return json;
}

// In one line; a client may call itself anything.
std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

HttpAnswer answer_state(const LiveState& state, Duration age) {
    return {200, "application/json; charset=utf-8",
            text_of(to_json(state, age, state.events.size())) + '\n'};
}

std::string state_event(const LiveState& state, Duration age, bool with_history) {
    const std::size_t count = with_history ? state.events.size() : kEventsInStream;
    return "event: state\ndata: " + text_of(to_json(state, age, count)) + "\n\n";
}

}  // namespace pgb

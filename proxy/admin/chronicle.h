#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/admin/reload_report.h"
#include "proxy/base/instant.h"

namespace pgb {

/// What happened that a person at the page would want to have been told.
enum class EventKind : std::uint8_t {
    started,
    overload_began,  ///< A workload refuses for want of room, the first time for a while.
    overload_ended,  ///< It has not for a while.
    reloaded,        ///< The file was taken anew.
    reload_failed,
    changed,       ///< A workload was changed by a person, until the file is loaded again.
    backend_down,  ///< A database's latest connection attempt failed.
    backend_up,    ///< It has backends again.
    draining,      ///< No new transactions; the program is about to end.
};

constexpr std::string_view to_word(EventKind kind) {
    switch (kind) {
        case EventKind::started: return "started";
        case EventKind::overload_began: return "overload_began";
        case EventKind::overload_ended: return "overload_ended";
        case EventKind::reloaded: return "reloaded";
        case EventKind::reload_failed: return "reload_failed";
        case EventKind::changed: return "changed";
        case EventKind::backend_down: return "backend_down";
        case EventKind::backend_up: return "backend_up";
        case EventKind::draining: return "draining";
    }
    return "unknown";
}

/// True for what a person has to do something about.
constexpr bool is_trouble(EventKind kind) {
    return kind == EventKind::overload_began || kind == EventKind::reload_failed ||
           kind == EventKind::backend_down;
}

struct Event {
    std::uint64_t number = 0;  ///< From 1; grows with each.
    double at = 0;             ///< Seconds of Unix time.
    EventKind kind = EventKind::started;
    std::string subject;  ///< The workload or database; empty: the program.
    std::string text;     ///< For people.
};

/// The latest events, at most kEventsMax. An overload and a backend's trouble are told once when they
/// begin and once when they end. Pure; the log has the same and more.
class Chronicle {
public:
    static constexpr std::size_t kEventsMax = 200;
    static constexpr std::size_t kTextMax = 500;

    /// An event that is told later than it was stands where it belongs by its time.
    void note(EventKind kind, std::string subject, std::string text, double at);

    /// An episode of that workload (by number) begins; `name` as people know it.
    void overload_began(std::size_t workload, std::string name, std::string text, double at);
    /// The workloads in an episode.
    [[nodiscard]] const std::vector<std::size_t>& overloaded() const { return overloaded_; }
    [[nodiscard]] bool is_overloaded(std::size_t workload) const;
    /// The episode's last refusal was at `at`.
    void overload_ended(std::size_t workload, std::string name, double at);

    /// What the latest connect of a database says; told when it is another than before.
    void note_reachable(std::string_view database, bool reachable, std::string_view trouble,
                        double at);
    void note_reload(std::string_view trigger, const ReloadReport& report, double at);

    /// `by`: who has changed the workload.
    void note_change(std::string workload, std::string_view by,
                     const std::vector<ReloadReport::Change>& changes, double at);

    /// The latest `count`, the newest first.
    [[nodiscard]] std::vector<Event> latest(std::size_t count) const;

private:
    std::deque<Event> events_;  // the oldest first
    std::uint64_t last_number_ = 0;
    std::vector<std::size_t> overloaded_;
    std::vector<std::string> down_;  // databases
};

}  // namespace pgb

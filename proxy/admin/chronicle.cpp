#include "proxy/admin/chronicle.h"

#include <algorithm>
#include <utility>

namespace pgb {

namespace {

// As many as a person reads; the answer of the reload and the log have them all.
constexpr std::size_t kChangesTold = 6;

// Not in the middle of a character.
void shorten(std::string& text, std::size_t limit) {
    if (text.size() <= limit) return;
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
    text.resize(limit);
    text += "...";
}

std::string words(const std::vector<ReloadReport::Change>& changes) {
    std::string text;
    for (std::size_t i = 0; i < std::min(changes.size(), kChangesTold); ++i) {
        const ReloadReport::Change& change = changes[i];
        if (!text.empty()) text += "; ";
        text += change.key + ": " + change.before + " -> " + change.after;
        if (!change.in_force) text += " (restart needed)";
    }
    if (changes.size() > kChangesTold) {
        text += "; and " + std::to_string(changes.size() - kChangesTold) + " more";
    }
    return text.empty() ? "nothing is different" : text;
}

}  // namespace

void Chronicle::note(EventKind kind, std::string subject, std::string text, double at) {
    shorten(text, kTextMax);
    const auto later =
        std::upper_bound(events_.begin(), events_.end(), at,
                         [](double time, const Event& event) { return time < event.at; });
    events_.insert(later, {++last_number_, at, kind, std::move(subject), std::move(text)});
    if (events_.size() > kEventsMax) events_.pop_front();
}

void Chronicle::overload_began(std::size_t workload, std::string name, std::string text,
                               double at) {
    if (!is_overloaded(workload)) overloaded_.push_back(workload);
    note(EventKind::overload_began, std::move(name), std::move(text), at);
}

bool Chronicle::is_overloaded(std::size_t workload) const {
    return std::find(overloaded_.begin(), overloaded_.end(), workload) != overloaded_.end();
}

void Chronicle::overload_ended(std::size_t workload, std::string name, double at) {
    std::erase(overloaded_, workload);
    note(EventKind::overload_ended, std::move(name), "the last refusal was here", at);
}

void Chronicle::note_reachable(std::string_view database, bool reachable, std::string_view trouble,
                               double at) {
    const auto known = std::find(down_.begin(), down_.end(), database);
    if (reachable == (known == down_.end())) return;
    if (reachable) {
        down_.erase(known);
        note(EventKind::backend_up, std::string(database), "connects succeed again", at);
    } else {
        down_.emplace_back(database);
        note(EventKind::backend_down, std::string(database), std::string(trouble), at);
    }
}

void Chronicle::note_reload(std::string_view trigger, const ReloadReport& report, double at) {
    const std::string by = "by " + std::string(trigger) + ": ";
    if (report.outcome == ReloadReport::Outcome::done) {
        note(EventKind::reloaded, {}, by + words(report.changes), at);
        return;
    }
    std::string text = by + report.message;
    for (const ReloadReport::Mistake& mistake : report.mistakes) {
        if (mistake.is_error) text += "; " + mistake.text;
    }
    note(EventKind::reload_failed, {}, std::move(text), at);
}

void Chronicle::note_change(std::string workload, std::string_view by,
                            const std::vector<ReloadReport::Change>& changes, double at) {
    note(EventKind::changed, std::move(workload), "by " + std::string(by) + ": " + words(changes),
         at);
}

std::vector<Event> Chronicle::latest(std::size_t count) const {
    const auto taken = std::min(count, events_.size());
    return {events_.rbegin(), events_.rbegin() + static_cast<std::ptrdiff_t>(taken)};
}

}  // namespace pgb

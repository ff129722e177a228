#include "proxy/cli/top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "proxy/cli/text_table.h"

namespace pgb {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kBarWidth = 10;
constexpr std::size_t kNameMax = 24;
constexpr std::size_t kEventsMax = 5;
// Lines of the head, titles and empty lines between the parts.
constexpr std::size_t kOtherLines = 8;

std::string time_word(double seconds) {
    if (seconds < 0.001) return fmt::format("{:.0f}us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.0f}ms", seconds * 1e3);
    if (seconds < 10) return fmt::format("{:.1f}s", seconds);
    if (seconds < 120) return fmt::format("{:.0f}s", seconds);
    if (seconds < 7200) return fmt::format("{:.0f}min", seconds / 60);
    return fmt::format("{:.0f}h", seconds / 3600);
}

std::string times(const Json& percentiles) {
    if (percentiles.at("count") == 0) return "-";
    return time_word(percentiles.at("p50").get<double>()) + "/" +
           time_word(percentiles.at("p99").get<double>());
}

std::uint64_t sum(const Json& counts) {
    std::uint64_t all = 0;
    for (const auto& [word, count] : counts.items()) all += count.get<std::uint64_t>();
    return all;
}

std::string text(const Json& json, const char* key, std::size_t width = kNameMax) {
    return drawable(json.at(key).get<std::string>(), width);
}

class Screen {
public:
    Screen(const Json& state, const Json& before, const Terminal& terminal)
        : state_(state), before_(before), terminal_(terminal) {}

    std::string draw() {
        head();
        workloads();
        databases();
        events();
        holders();
        std::string all;
        for (const std::string& each : lines_) all += each + '\n';
        return all;
    }

private:
    void line(std::string words, bool alarming = false) {
        words = drawable(words, terminal_.width);
        if (alarming && terminal_.colours) words = "\x1b[1;31m" + words + "\x1b[0m";
        lines_.push_back(std::move(words));
    }

    void title(const std::string& words) {
        lines_.emplace_back();
        const std::string drawn = drawable(words, terminal_.width);
        lines_.push_back(terminal_.colours ? "\x1b[1m" + drawn + "\x1b[0m" : drawn);
    }

    void head() {
        const std::string readiness = state_.at("readiness").get<std::string>();
        line(fmt::format("pgbulkhead {}  up {}  {} clients  {}", text(state_, "version"),
                         time_word(state_.at("uptime_seconds").get<double>()),
                         state_.at("clients").get<std::uint64_t>(), readiness),
             readiness != "ready");
    }

    /// Refusals a second since `before`; nothing when that is not known.
    [[nodiscard]] std::optional<double> refusing(const Json& workload) const {
        if (!before_.is_object() || before_.at("instance") != state_.at("instance")) return {};
        const double span = state_.at("at").get<double>() - before_.at("at").get<double>();
        for (const Json& then : before_.at("workloads")) {
            if (then.at("name") != workload.at("name") || span <= 0) continue;
            const auto grown = sum(workload.at("rejected")) - sum(then.at("rejected"));
            return static_cast<double>(grown) / span;
        }
        return {};
    }

    static std::string bar(std::uint64_t running, std::uint64_t limit) {
        const std::uint64_t part =
            limit == 0 ? 0 : std::min(running * kBarWidth / limit, kBarWidth);
        // One that runs is seen, however large the budget is.
        const auto full =
            static_cast<std::size_t>(running > 0 ? std::max<std::uint64_t>(part, 1) : part);
        return std::string(full, '#') + std::string(kBarWidth - full, '.');
    }

    static std::string worst_reason(const Json& rejected) {
        std::string worst = "-";
        std::uint64_t most = 0;
        for (const auto& [word, count] : rejected.items()) {
            if (count.get<std::uint64_t>() <= most) continue;
            most = count.get<std::uint64_t>();
            worst = word;
        }
        return worst;
    }

    void workloads() {
        std::vector<TextColumn> columns = {{"WORKLOAD", {}, 100},
                                           {"MODE", {}, 20},
                                           {"BUDGET", {}, 30},
                                           {"RUN", {}, 95, true},
                                           {"WAIT", {}, 90, true},
                                           {"REF/S", {}, 85, true},
                                           {"REFUSED", {}, 80, true},
                                           {"WAIT p50/p99", {}, 60, true},
                                           {"HOLD p50/p99", {}, 50, true},
                                           {"REASON", {}, 40}};
        std::vector<bool> alarming;
        for (const Json& workload : state_.at("workloads")) {
            const auto count = [&workload](const char* key) {
                return workload.at(key).get<std::uint64_t>();
            };
            const std::optional<double> rate = refusing(workload);
            const std::string cells[] = {
                workload.at("housekeeping") ? "(housekeeping)" : text(workload, "name"),
                text(workload, "mode"),
                bar(count("running"), count("concurrency")),
                fmt::format("{}/{}", count("running"), count("concurrency")),
                fmt::format("{}/{}", count("waiting"), count("queue")),
                rate ? fmt::format("{:.{}f}", *rate, *rate < 10 ? 1 : 0) : "-",
                std::to_string(sum(workload.at("rejected"))),
                times(workload.at("wait_seconds")),
                times(workload.at("hold_seconds")),
                worst_reason(workload.at("rejected"))};
            for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
            alarming.push_back(rate.value_or(0) > 0);
        }
        table(std::move(columns), alarming);
    }

    void table(std::vector<TextColumn> columns, const std::vector<bool>& alarming) {
        const std::vector<std::string> lines = lay_out(std::move(columns), terminal_.width);
        title(lines[0]);
        for (std::size_t i = 1; i < lines.size(); ++i) {
            line(lines[i], i - 1 < alarming.size() && alarming[i - 1]);
        }
    }

    void databases() {
        lines_.emplace_back();
        for (const Json& database : state_.at("databases")) {
            const Json& backends = database.at("backends");
            const bool reachable = database.at("reachable").get<bool>();
            line(fmt::format("database {}: {} of {} backends, {} busy, {} idle, {} wait{}",
                             text(database, "name"), sum(backends),
                             database.at("pool_size").get<std::uint64_t>(),
                             backends.at("lent").get<std::uint64_t>() +
                                 backends.at("pinned").get<std::uint64_t>(),
                             backends.at("idle").get<std::uint64_t>(),
                             database.at("waiting").get<std::uint64_t>(),
                             database.at("paused").get<bool>() ? "; PAUSED"
                             : reachable                       ? ""
                                                               : "; CANNOT BE REACHED"),
                 !reachable);
        }
    }

    void events() {
        title("EVENTS");
        const Json& events = state_.at("events");
        const double now = state_.at("at").get<double>();
        for (std::size_t i = 0; i < std::min(events.size(), kEventsMax); ++i) {
            const Json& event = events[i];
            line(fmt::format("{:>6} ago  {}  {} {}",
                             time_word(std::max(0.0, now - event.at("at").get<double>())),
                             text(event, "kind"), text(event, "subject"),
                             text(event, "text", terminal_.width)),
                 false);
        }
    }

    void holders() {
        std::vector<TextColumn> columns = {{"AGE", {}, 100, true}, {"WORKLOAD", {}, 80},
                                           {"STATE", {}, 90},      {"PID", {}, 30, true},
                                           {"CLIENT", {}, 70},     {"STATEMENT", {}, 60}};
        const Json& oldest = state_.at("holders").at("oldest");
        const std::size_t used = lines_.size() + kOtherLines;
        const std::size_t room = terminal_.height > used ? terminal_.height - used : 1;
        for (std::size_t i = 0; i < std::min(oldest.size(), room); ++i) {
            const Json& holder = oldest[i];
            const std::string name = text(holder, "application_name");
            const std::string cells[] = {time_word(holder.at("age_seconds").get<double>()),
                                         text(holder, "workload"),
                                         text(holder, "state"),
                                         std::to_string(holder.at("pid").get<std::uint64_t>()),
                                         name.empty() ? text(holder, "client") : name,
                                         text(holder, "statement", terminal_.width)};
            for (std::size_t k = 0; k < columns.size(); ++k) columns[k].cells.push_back(cells[k]);
        }
        table(std::move(columns), {});
        const std::uint64_t more = state_.at("holders").at("left_out").get<std::uint64_t>() +
                                   oldest.size() - std::min(oldest.size(), room);
        if (more > 0) line(fmt::format("and {} more", more));
    }

    const Json& state_;
    const Json& before_;
    const Terminal& terminal_;
    std::vector<std::string> lines_;
};

}  // namespace

std::optional<std::string> draw_top(const std::string& state, const std::string& before,
                                    const Terminal& terminal) {
    const Json now = Json::parse(state, nullptr, false);
    const Json then = Json::parse(before, nullptr, false);
    if (!now.is_object()) return std::nullopt;
    try {
        return Screen(now, then, terminal).draw();
    } catch (const Json::exception&) {
        // Of another program, or another version of this one.
        return std::nullopt;
    }
}

}  // namespace pgb

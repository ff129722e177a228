// pgb_fire: transactions that never send COMMIT must never commit, whatever strikes them. See
// README.md.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tests/integration/load/fire_client.h"
#include "tests/support/load/clock.h"
#include "tests/support/load/inspector.h"
#include "tests/support/load/run.h"
#include "tests/support/load/sampler.h"

namespace pgb::load {
namespace {

struct FireOptions {
    Target target;
    Target direct;
    std::size_t clients = 12;
    double seconds = 10;
    double stuck_after_seconds = 20;
    std::uint64_t seed = 1;
    std::string timeouts = "options";
};

// A third of the clients live without a statement timeout, so that the cancels have their share.
void choose_timeout(Target& target, const FireOptions& options, std::size_t client) {
    constexpr std::array<int, 6> kTimeoutsMs = {0, 1, 2, 0, 3, 5};
    const int ms = kTimeoutsMs[client % kTimeoutsMs.size()];
    if (ms == 0 || options.timeouts == "none") return;
    if (options.timeouts == "options") {
        target.options = "-c statement_timeout=" + std::to_string(ms) + "ms";
    } else {
        target.user = "fire_" + std::to_string(ms);
    }
}

class Fire {
public:
    explicit Fire(const FireOptions& options)
        : options_(options), canceller_(loop_), inspector_(loop_, options.direct) {}

    nlohmann::json run();
    [[nodiscard]] bool is_stuck() const { return stuck_; }

private:
    using Counts = std::unordered_map<std::uint64_t, std::uint64_t>;

    void make_tables();
    void start_clients();
    bool wait_for_rest();
    [[nodiscard]] bool has_stuck_client() const;
    Counts control_rows();
    nlohmann::json judge_control();
    nlohmann::json committed_by_style();

    const FireOptions& options_;
    Loop loop_;
    FireBook book_;
    Canceller canceller_;
    Inspector inspector_;
    std::vector<std::unique_ptr<FireClient>> clients_;
    bool stuck_ = false;
};

void Fire::make_tables() {
    for (const std::string_view table : {"fire", "fire_control"}) {
        const auto made = inspector_.column(
            fmt::format("drop table if exists {0}; create table {0} (id bigint, style text); "
                        "grant all on {0} to public",
                        table));
        if (made) continue;
        std::fprintf(stderr, "pgb_fire: %s\n", made.error().message.c_str());
        std::exit(2);
    }
}

void Fire::start_clients() {
    for (std::size_t i = 0; i < options_.clients; ++i) {
        Target target = options_.target;
        choose_timeout(target, options_, i);
        clients_.push_back(std::make_unique<FireClient>(loop_, target, canceller_, book_,
                                                        options_.seed * 7919 + i));
        clients_.back()->start();
    }
}

bool Fire::has_stuck_client() const {
    const Instant now = read_clock();
    const auto patience = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(options_.stuck_after_seconds));
    return std::any_of(clients_.begin(), clients_.end(), [&](const auto& client) {
        const Instant since = client->waiting_since();
        return !since.is_never() && now - since > patience;
    });
}

// What the clients left behind ends too: no session of theirs works any more.
bool Fire::wait_for_rest() {
    for (const auto& client : clients_) client->stop();
    const Instant end = read_clock() + std::chrono::seconds(30);
    const bool at_rest = loop_.run_until(end, [this] {
        return std::all_of(clients_.begin(), clients_.end(),
                           [](const auto& client) { return client->is_at_rest(); });
    });
    while (read_clock() < end) {
        const std::int64_t busy = inspector_.number(
            "select count(*) from pg_stat_activity where state <> 'idle' and "
            "backend_type = 'client backend' and usename <> 'postgres'");
        if (busy == 0) return at_rest;
        loop_.run_until(read_clock() + std::chrono::milliseconds(20));
    }
    return false;
}

Fire::Counts Fire::control_rows() {
    Counts counts;
    const auto rows = inspector_.column("select id from fire_control");
    if (!rows) return counts;
    for (const std::string& text : *rows) ++counts[std::stoull(text)];
    return counts;
}

nlohmann::json Fire::judge_control() {
    const Counts rows = control_rows();
    const auto count_of = [&rows](std::uint64_t id) {
        const auto found = rows.find(id);
        return found == rows.end() ? std::uint64_t{0} : found->second;
    };
    const auto with = [&](const std::vector<std::uint64_t>& ids, auto wrong) {
        return std::count_if(ids.begin(), ids.end(),
                             [&](std::uint64_t id) { return wrong(count_of(id)); });
    };
    const auto is_missing = [](std::uint64_t count) { return count == 0; };
    const auto is_there = [](std::uint64_t count) { return count > 0; };
    const auto is_doubled = [](std::uint64_t count) { return count > 1; };
    return {{"acknowledged", book_.acknowledged.size()},
            {"acknowledged_missing", with(book_.acknowledged, is_missing)},
            {"acknowledged_doubled", with(book_.acknowledged, is_doubled)},
            {"rolled_back", book_.rolled_back.size()},
            {"rolled_back_but_there", with(book_.rolled_back, is_there)},
            {"unknown", book_.unknown.size()},
            {"unknown_there", with(book_.unknown, is_there)},
            {"unknown_doubled", with(book_.unknown, is_doubled)},
            {"commit_said_after_error", book_.commit_said_after_error}};
}

nlohmann::json Fire::committed_by_style() {
    nlohmann::json result = nlohmann::json::object();
    for (const FireStyle style : kFireStyles) {
        const std::string name(to_string(style));
        result[name] = inspector_.number("select count(*) from fire where style = '" + name + "'");
    }
    return result;
}

nlohmann::json Fire::run() {
    make_tables();
    Sampler rows(loop_, options_.direct, "select count(*) from fire",
                 std::chrono::milliseconds(250));
    rows.start();
    start_clients();
    const auto seconds =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options_.seconds));
    loop_.run_until(read_clock() + seconds, [this] { return stuck_ = has_stuck_client(); });
    const bool at_rest = wait_for_rest();
    return {{"transactions", book_.transactions},
            {"by_style", book_.by_style},
            {"cancels", canceller_.fired_count()},
            {"refused", book_.refused},
            {"errors", book_.errors},
            {"left", book_.left},
            {"connections_lost", book_.connections_lost},
            {"stuck", stuck_},
            {"at_rest", at_rest},
            {"rows_seen_meanwhile", rows.max()},
            {"committed_without_commit", inspector_.number("select count(*) from fire")},
            {"committed_by_style", committed_by_style()},
            {"control", judge_control()}};
}

}  // namespace
}  // namespace pgb::load

int main(int argc, char** argv) try {
    CLI::App app("BEGIN and INSERT under random cancels and timeouts, without COMMIT.");
    pgb::load::FireOptions options;
    app.add_option("--host", options.target.host, "proxy: address or socket directory");
    app.add_option("--port", options.target.port, "proxy: port");
    app.add_option("--user", options.target.user, "user");
    app.add_option("--database", options.target.database, "database");
    app.add_option("--direct-host", options.direct.host, "PostgreSQL itself");
    app.add_option("--direct-port", options.direct.port, "PostgreSQL itself");
    app.add_option("--clients", options.clients, "connections");
    app.add_option("--seconds", options.seconds, "length");
    app.add_option("--stuck-after", options.stuck_after_seconds, "seconds without an answer");
    app.add_option("--seed", options.seed, "of all choices");
    app.add_option("--timeouts", options.timeouts,
                   "statement_timeout by startup options, by roles fire_1 to fire_5, or none")
        ->check(CLI::IsMember({"options", "roles", "none"}));
    CLI11_PARSE(app, argc, argv);
    options.direct.database = options.target.database;
    pgb::load::allow_descriptors(4 * options.clients + 256);
    pgb::load::Fire fire(options);
    std::printf("%s\n", fire.run().dump().c_str());
    return 0;
} catch (...) {
    // Nothing of ours throws; the libraries for options and JSON might.
    std::fputs("pgb_fire: ended by an exception\n", stderr);
    return 1;
}

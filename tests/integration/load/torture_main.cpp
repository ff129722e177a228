// pgb_torture: transactions of random outcome; afterwards all permits must be back. See README.md.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/integration/load/torture_client.h"
#include "tests/support/load/clock.h"
#include "tests/support/load/run.h"

namespace pgb::load {
namespace {

struct TortureOptions {
    Target target;
    std::size_t clients = 64;
    std::uint64_t transactions = 10000;
    std::size_t capacity = 0;  ///< permits to be proved free at the end; 0: not asked
    double stuck_after_seconds = 30;
    std::uint64_t seed = 1;
    TortureRules rules;
};

// A peer that has died refuses every login; there is nothing left to learn then.
constexpr std::uint64_t kLoginsFailedMax = 1000;

Duration from_seconds(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

/// Holds one permit: an open block with a statement run in it.
class Holder final : private PlayerOwner {
public:
    Holder(Loop& loop, const Target& target) : player_(loop, target, *this) { player_.login(); }

    [[nodiscard]] bool has_answer() const { return !answer_.empty(); }
    [[nodiscard]] bool holds() const { return answer_ == "holds"; }
    [[nodiscard]] const std::string& answer() const { return answer_; }
    void leave() { player_.leave(Goodbye::terminate); }

private:
    void on_login() override {
        player_.play({pipelined({"begin", "select 1 + 0"})}, OnError::go_on);
    }
    void on_played(const Answers& answers) override {
        const bool open = !answers.has_error() && answers.status == 'T';
        answer_ = open                  ? "holds"
                  : answers.has_error() ? answers.errors.front().message
                                        : "no block";
    }
    void on_player_lost(const Answers&, const ErrorFields& error) override {
        answer_ = "lost: " + error.message;
    }

    Player player_;
    std::string answer_;
};

class Torture {
public:
    explicit Torture(const TortureOptions& options) : options_(options), canceller_(loop_) {
        book_.left_to_begin = options.transactions;
    }

    nlohmann::json run();
    /// That many transactions hold their permits at the same time, all admitted.
    nlohmann::json prove_capacity();

private:
    void start_clients();
    [[nodiscard]] const TortureClient* stuck_client() const;
    [[nodiscard]] bool all_done() const;

    const TortureOptions& options_;
    Loop loop_;
    TortureBook book_;
    Canceller canceller_;
    std::vector<std::unique_ptr<TortureClient>> clients_;
};

void Torture::start_clients() {
    for (std::size_t i = 0; i < options_.clients; ++i) {
        clients_.push_back(std::make_unique<TortureClient>(
            loop_, options_.target, canceller_, book_, options_.rules, options_.seed * 7919 + i));
        clients_.back()->start();
    }
}

const TortureClient* Torture::stuck_client() const {
    const Instant now = read_clock();
    const Duration patience = from_seconds(options_.stuck_after_seconds);
    for (const auto& client : clients_) {
        const Instant since = client->waiting_since();
        if (!since.is_never() && now - since > patience) return client.get();
    }
    return nullptr;
}

bool Torture::all_done() const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& client) { return client->is_done(); });
}

nlohmann::json Torture::run() {
    start_clients();
    const Instant started = read_clock();
    const TortureClient* stuck = nullptr;
    loop_.run_until(Instant::never(), [&] {
        const bool peer_died = book_.logins_failed > kLoginsFailedMax;
        return peer_died || all_done() || (stuck = stuck_client()) != nullptr;
    });
    const Duration elapsed = read_clock() - started;
    loop_.run_until(read_clock() + from_seconds(options_.stuck_after_seconds),
                    [this] { return canceller_.in_flight_count() == 0; });
    for (const auto& client : clients_) client->leave();
    return {{"transactions", book_.begun},
            {"seconds", to_seconds(elapsed)},
            {"ok", book_.ok},
            {"refused", book_.refused},
            {"left", book_.left},
            {"cancels", canceller_.fired_count()},
            {"by_fate", book_.by_fate},
            {"outcomes", book_.outcomes},
            {"unexpected", book_.unexpected},
            {"stuck", stuck == nullptr ? "" : to_string(stuck->fate())}};
}

nlohmann::json Torture::prove_capacity() {
    std::vector<std::unique_ptr<Holder>> holders;
    for (std::size_t i = 0; i < options_.capacity; ++i) {
        holders.push_back(std::make_unique<Holder>(loop_, options_.target));
    }
    loop_.run_until(read_clock() + from_seconds(options_.stuck_after_seconds), [&holders] {
        return std::all_of(holders.begin(), holders.end(),
                           [](const auto& holder) { return holder->has_answer(); });
    });
    const auto held = std::count_if(holders.begin(), holders.end(),
                                    [](const auto& holder) { return holder->holds(); });
    nlohmann::json answers = nlohmann::json::array();
    for (const auto& holder : holders) {
        if (!holder->holds()) answers.push_back(holder->answer());
        holder->leave();
    }
    return {{"asked", options_.capacity}, {"held", held}, {"refusals", answers}};
}

}  // namespace
}  // namespace pgb::load

int main(int argc, char** argv) try {
    CLI::App app("Transactions of random outcome.");
    pgb::load::TortureOptions options;
    app.add_option("--host", options.target.host, "address or socket directory");
    app.add_option("--port", options.target.port, "port");
    app.add_option("--user", options.target.user, "user");
    app.add_option("--database", options.target.database, "database");
    app.add_option("--clients", options.clients, "connections");
    app.add_option("--transactions", options.transactions, "all clients together");
    app.add_option("--capacity", options.capacity, "permits to be held at once at the end");
    app.add_option("--stuck-after", options.stuck_after_seconds, "seconds without an answer");
    app.add_option("--seed", options.seed, "of all choices");
    app.add_flag("--direct", options.rules.connection_may_be_lost,
                 "the peer is PostgreSQL: a killed backend takes the connection along");
    CLI11_PARSE(app, argc, argv);
    pgb::load::allow_descriptors(4 * options.clients + 256);
    pgb::load::Torture torture(options);
    nlohmann::json result = torture.run();
    result["capacity"] = torture.prove_capacity();
    std::printf("%s\n", result.dump().c_str());
    return 0;
} catch (...) {
    // Nothing of ours throws; the libraries for options and JSON might.
    std::fputs("pgb_torture: ended by an exception\n", stderr);
    return 1;
}

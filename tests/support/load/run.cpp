#include "tests/support/load/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "tests/support/load/clock.h"
#include "tests/support/load/progress.h"
#include "tests/support/load/sampler.h"

namespace pgb::load {
namespace {

constexpr Duration kSamplerLogin = std::chrono::seconds(10);
// What was under way at the end may finish for so long; the rest is abandoned, uncounted.
constexpr Duration kWindDown = std::chrono::seconds(5);

Duration from_seconds(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

class Run {
public:
    explicit Run(const RunOptions& options) : options_(options) {}

    Result<nlohmann::json> execute();

private:
    void make_sampler();
    void start_clients();
    void start_counting();
    void wind_down();
    void count_by_client();
    [[nodiscard]] nlohmann::json result(Duration elapsed) const;

    const RunOptions& options_;
    Loop loop_;
    Tally tally_;
    std::unique_ptr<Sampler> sampler_;
    std::vector<std::unique_ptr<LoadClient>> clients_;
};

void Run::make_sampler() {
    if (options_.sample_sql.empty()) return;
    sampler_ = std::make_unique<Sampler>(loop_, options_.sample_target, options_.sample_sql,
                                         from_seconds(options_.sample_every_ms / 1000));
    sampler_->start();
    loop_.run_until(read_clock() + kSamplerLogin, [this] {
        return sampler_->sample_count() > 0 || !sampler_->failure().empty();
    });
}

void Run::start_clients() {
    const double step = options_.ramp_seconds / static_cast<double>(options_.clients);
    for (std::size_t i = 0; i < options_.clients; ++i) {
        clients_.push_back(std::make_unique<LoadClient>(loop_, options_.target, options_.script,
                                                        options_.behaviour, tally_,
                                                        options_.seed * 1'000'003 + i));
        clients_.back()->start_after(from_seconds(step * static_cast<double>(i)));
    }
}

void Run::start_counting() {
    const double before = options_.warmup_seconds + options_.ramp_seconds;
    if (before <= 0) return;
    loop_.run_until(read_clock() + from_seconds(before));
    const std::uint64_t logins = tally_.logins;
    tally_ = Tally{};
    tally_.logins = logins;
    for (const auto& client : clients_) client->reset_count();
    if (sampler_) sampler_->reset();
}

void Run::wind_down() {
    for (const auto& client : clients_) client->stop();
    loop_.run_until(read_clock() + kWindDown, [this] {
        return std::all_of(clients_.begin(), clients_.end(),
                           [](const auto& client) { return client->is_at_rest(); });
    });
    for (const auto& client : clients_) client->leave();
}

void Run::count_by_client() {
    tally_.client_ok_min = clients_.empty() ? 0 : clients_.front()->ok_count();
    for (const auto& client : clients_) {
        const std::uint64_t count = client->ok_count();
        if (count == 0) ++tally_.clients_never_served;
        tally_.client_ok_min = std::min(tally_.client_ok_min, count);
        tally_.client_ok_max = std::max(tally_.client_ok_max, count);
    }
}

nlohmann::json Run::result(Duration elapsed) const {
    nlohmann::json json = to_json(tally_, elapsed);
    json["label"] = options_.label;
    json["clients"]["count"] = options_.clients;
    if (sampler_) {
        json["sampled"] = {{"max", sampler_->max()}, {"samples", sampler_->sample_count()}};
    }
    return json;
}

Result<nlohmann::json> Run::execute() {
    make_sampler();
    if (sampler_ && !sampler_->failure().empty()) return Error{"sampler: " + sampler_->failure()};
    start_clients();
    start_counting();

    std::optional<Progress> progress;
    if (options_.progress) {
        progress.emplace(loop_, tally_, sampler_.get(), options_.label,
                         from_seconds(options_.seconds));
        progress->start(read_clock());
    }
    const Instant started = read_clock();
    loop_.run_until(started + from_seconds(options_.seconds));
    const Duration elapsed = read_clock() - started;
    if (progress) progress->finish();

    count_by_client();
    nlohmann::json json = result(elapsed);
    wind_down();
    return json;
}

}  // namespace

Result<nlohmann::json> run_load(const RunOptions& options) {
    allow_descriptors(options.clients + 64);
    return Run(options).execute();
}

void allow_descriptors(std::size_t count) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
    limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace pgb::load

#include "proxy/app/lock_sampler.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "proxy/app/database.h"
#include "proxy/app/server.h"

namespace pgb {

namespace {

// A look takes milliseconds; a server that needs longer has other worries than this one.
constexpr Duration kAnswerTimeout = std::chrono::seconds(5);
// After trouble the pause doubles up to this.
constexpr Duration kPauseMax = std::chrono::seconds(30);
// One row for each process, or for each of its first three blockers; more tell nobody more. The first
// column stands even when none of the processes is there.
constexpr const char* kLook =
    "with seen as materialized ("
    "select pid, backend_start, state, coalesce(wait_event_type = 'Lock', false) as waits,"
    " case when wait_event_type = 'Lock' then (pg_blocking_pids(pid))[1:3] end as blockers"
    " from pg_stat_activity where pid = any ($1::int[])) "
    "select (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint, s.pid,"
    " (extract(epoch from s.backend_start) * 1000000)::bigint, s.waits,"
    " coalesce(s.state like 'idle in transaction%', false),"
    " k.pid, b.state, host(b.client_addr), b.application_name, b.usename, b.datname "
    "from (select) as server"
    " left join seen s on true"
    " left join lateral unnest(s.blockers) as k(pid) on true"
    " left join pg_stat_activity b on b.pid = k.pid";
// Its columns.
constexpr std::size_t kServer = 0;
constexpr std::size_t kPid = 1;
constexpr std::size_t kStart = 2;
constexpr std::size_t kWaits = 3;
constexpr std::size_t kIdle = 4;
constexpr std::size_t kBlocker = 5;
constexpr std::size_t kState = 6;
constexpr std::size_t kClient = 7;
constexpr std::size_t kName = 8;
constexpr std::size_t kUser = 9;
constexpr std::size_t kBase = 10;
constexpr std::size_t kColumnCount = kBase + 1;

template <typename Number>
std::optional<Number> number(const std::optional<std::string>& text) {
    Number value{};
    if (!text) return std::nullopt;
    const char* end = text->data() + text->size();
    const auto [stopped, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return value;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

LockSampler::LockSampler(Server& server, Database& database, const config::LockSampler& rules)
    : server_(server),
      database_(database),
      rules_(rules),
      timer_(server.loop(), [this] { on_timer(); }),
      sampled_(server.config().workloads.size()) {
    timer_.arm(server.now());
}

std::vector<LockHolder> LockSampler::waits_for(std::uint32_t pid) const {
    const auto found = lock_holders_.find(pid);
    return found == lock_holders_.end() ? std::vector<LockHolder>() : found->second;
}

void LockSampler::rest(Duration pause) {
    state_ = State::resting;
    timer_.arm(server_.now() + pause);
}

void LockSampler::on_timer() {
    if (link_ != nullptr && link_->is_lost()) link_.reset();
    if (state_ == State::asked) {
        link_.reset();
        note_trouble("PostgreSQL did not answer in time");
    } else if (link_ == nullptr) {
        connect();
    } else {
        look();
    }
}

void LockSampler::connect() {
    state_ = State::connecting;
    const Duration patience = database_.entry().connect_timeout;
    server_.connector().connect(
        {.id = server_.new_connect(*this),
         .conninfo = *rules_.conninfo,
         .database = {},
         .user = {},
         .startup_parameters = {{"application_name", "pgbulkhead lock sampler"}},
         .timeout = patience,
         .tcp = keepalive_options(server_.config().limits.tcp_keepalive, patience)});
}

void LockSampler::on_connected(ConnectedBackend connected) {
    link_ = std::make_unique<QueryLink>(server_.loop(), std::move(connected.link),
                                        [this](const QueryAnswer& answer) { on_answer(answer); });
    look();
}

void LockSampler::on_connect_failed(const ConnectFailure& failure) {
    note_trouble(failure.message);
}

void LockSampler::look() {
    asked_.clear();
    database_.list_processes(watch_, asked_);
    asked_at_ = server_.now();
    if (asked_.empty()) {
        watch_.forget_sights();
        lock_holders_.clear();
        count(asked_at_);
        rest(rules_.interval);
        return;
    }
    std::string pids = "{";
    for (const AskedProcess& one : asked_) {
        if (pids.size() > 1) pids += ',';
        pids += std::to_string(one.pid);
    }
    pids += '}';
    const std::string trouble = link_->ask(kLook, pids);
    if (!trouble.empty()) {
        note_trouble(trouble);
        return;
    }
    state_ = State::asked;
    timer_.arm(asked_at_ + kAnswerTimeout);
}

void LockSampler::on_answer(const QueryAnswer& answer) {
    const bool asked = state_ == State::asked;
    if (!answer.trouble.empty()) {
        note_trouble(answer.trouble);
    } else if (asked) {
        take(answer);
    }
}

void LockSampler::take(const QueryAnswer& answer) {
    std::vector<SeenProcess> seen;
    std::optional<std::int64_t> server;
    lock_holders_.clear();
    for (const QueryAnswer::Row& row : answer.rows) {
        if (row.size() != kColumnCount) break;
        server = number<std::int64_t>(row[kServer]);
        const auto pid = number<std::uint32_t>(row[kPid]);
        if (!pid) continue;
        const auto started = number<std::int64_t>(row[kStart]);
        if (!started) {
            note_trouble(
                "pg_stat_activity shows its user too little: it needs the role pg_monitor");
            return;
        }
        if (seen.empty() || seen.back().pid != *pid) {
            seen.push_back({*pid, *started, row[kWaits] == "t", row[kIdle] == "t"});
        }
        if (!row[kBlocker]) continue;
        lock_holders_[*pid].push_back({.pid = number<std::uint32_t>(row[kBlocker]).value_or(0),
                                       .state = row[kState].value_or(""),
                                       .client = row[kClient].value_or(""),
                                       .application_name = row[kName].value_or(""),
                                       .user = row[kUser].value_or(""),
                                       .database = row[kBase].value_or("")});
    }
    if (!server) {
        note_trouble("the answer cannot be read");
        return;
    }
    std::vector<BackendId> gone;
    watch_.on_look(*server, asked_at_, asked_, seen, gone);
    count(asked_at_);
    for (const BackendId backend : gone) database_.on_orphan_gone(backend);
    if (health_ == Health::failing) {
        server_.log().info("lock_sampler_works", {{"database", database_.entry().name}});
    }
    health_ = Health::working;
    pause_ = Duration::zero();
    rest(rules_.interval);
}

// Each look stands for the time since the one before it.
void LockSampler::count(Instant now) {
    const double passed = counted_at_.is_never() ? 0 : seconds(now - counted_at_);
    counted_at_ = now;
    for (SampledHolders& holders : sampled_) {
        holders.waiting_for_lock = holders.idle_in_transaction = 0;
    }
    for (const AskedProcess& one : asked_) {
        const ProcessWatch::Sight* sight = watch_.sight_of(one.backend);
        const Backend* place = database_.pool().find(one.backend);
        if (sight == nullptr || place == nullptr) continue;
        if (place->state != BackendState::lent && place->state != BackendState::orphaned) continue;
        SampledHolders& holders = sampled_[place->workload];
        if (sight->waits_for_lock) {
            ++holders.waiting_for_lock;
            holders.lock_wait_seconds += passed;
        }
        if (sight->idle_in_transaction) {
            ++holders.idle_in_transaction;
            holders.idle_in_transaction_seconds += passed;
        }
    }
}

void LockSampler::note_trouble(const std::string& why) {
    ++failures_;
    watch_.forget_sights();
    lock_holders_.clear();
    asked_.clear();
    count(server_.now());
    counted_at_ = Instant::never();
    if (health_ != Health::failing) {
        server_.log().warn("lock_sampler_failed",
                           {{"database", database_.entry().name},
                            {"message", why},
                            {"note", "locks are not seen; orphans are held for orphan_hold"}});
    }
    health_ = Health::failing;
    pause_ = std::min(std::max(rules_.interval, pause_ * 2), std::max(rules_.interval, kPauseMax));
    rest(pause_);
}

}  // namespace pgb

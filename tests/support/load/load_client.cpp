#include "tests/support/load/load_client.h"

#include <charconv>
#include <utility>

#include "tests/support/load/clock.h"

namespace pgb::load {
namespace {

bool is_refusal(const ErrorFields& error) { return hint_value(error.hint, "reason").has_value(); }

Duration retry_after(const ErrorFields& error, Duration otherwise) {
    const std::optional<std::string_view> text = hint_value(error.hint, "retry_after_ms");
    if (!text) return otherwise;
    std::int64_t ms = 0;
    std::from_chars(text->data(), text->data() + text->size(), ms);
    return std::chrono::milliseconds(ms);
}

}  // namespace

LoadClient::LoadClient(Loop& loop, const Target& target, const Script& script,
                       const Behaviour& behaviour, Tally& tally, std::uint64_t seed)
    : script_(script),
      behaviour_(behaviour),
      tally_(tally),
      random_(seed),
      connection_(loop, target, *this),
      timer_(loop, [this] { wake(); }) {}

void LoadClient::start_after(Duration delay) { timer_.arm_after(delay); }

void LoadClient::stop() {
    stopped_ = true;
    if (state_ == State::away) connection_.close(Goodbye::fin);
    if (state_ == State::away || state_ == State::pausing) timer_.disarm();
}

bool LoadClient::is_at_rest() const {
    return stopped_ && (state_ == State::away || state_ == State::pausing);
}

void LoadClient::wake() {
    if (state_ == State::pausing) {
        begin_attempt();
        return;
    }
    connect_started_ = read_clock();
    connection_.open();
}

void LoadClient::on_ready() {
    ++tally_.logins;
    if (is_retry_ || behaviour_.arrive_every <= Duration(0)) {
        state_ = State::pausing;
        if (!stopped_) begin_attempt();
        return;
    }
    next_arrival_ = read_clock();
    pause(next_pause());
}

Duration LoadClient::next_pause() {
    if (behaviour_.arrive_every <= Duration(0)) return behaviour_.think;
    const auto mean = static_cast<double>(behaviour_.arrive_every.count());
    std::exponential_distribution<double> distance(1 / mean);
    const Instant now = read_clock();
    for (;;) {
        next_arrival_ = next_arrival_ + Duration(static_cast<Duration::rep>(distance(random_)));
        if (next_arrival_ > now) return next_arrival_ - now;
        ++tally_.missed;
    }
}

void LoadClient::begin_attempt() {
    state_ = State::running;
    step_ = 0;
    has_error_ = false;
    error_ = {};
    attempt_started_ = read_clock();
    if (!is_retry_) transaction_started_ = attempt_started_;
    send_step();
}

void LoadClient::send_step() {
    const Framed framed = frame(script_[step_], random_);
    ready_owed_ = framed.ready_count;
    connection_.send(framed.bytes);
}

void LoadClient::on_message(const Message& message) {
    if (message.type == 'E') note_error(parse_error(message.body));
    if (message.type != 'Z' || ready_owed_ == 0) return;
    if (--ready_owed_ == 0) on_answered();
}

void LoadClient::note_error(const ErrorFields& error) {
    // The errors after the first of an attempt are its consequences (25P02).
    if (has_error_ || state_ != State::running) return;
    has_error_ = true;
    error_ = error;
    const Duration took = read_clock() - attempt_started_;
    if (is_refusal(error)) {
        ++tally_.refused;
        const std::string reason(hint_value(error.hint, "reason").value_or(""));
        ++tally_.refused_by[error.sqlstate + " " + reason];
        tally_.refused_latency.record(took);
    } else {
        ++tally_.errors;
        ++tally_.errors_by[error.sqlstate];
    }
}

void LoadClient::on_answered() {
    if (state_ == State::clearing) {
        settle_refusal();
        return;
    }
    if (!has_error_ && ++step_ < script_.size()) {
        send_step();
        return;
    }
    finish_attempt();
}

void LoadClient::finish_attempt() {
    if (!has_error_) {
        const Instant now = read_clock();
        ++tally_.ok;
        ++ok_count_;
        tally_.ok_latency.record(now - attempt_started_);
        tally_.ok_with_retries.record(now - transaction_started_);
        is_retry_ = false;
    }
    if (connection_.transaction_status() != 'I') {
        state_ = State::clearing;
        ready_owed_ = 1;
        std::string bytes;
        frontend::query(bytes, "rollback");
        connection_.send(bytes);
        return;
    }
    settle_refusal();
}

// An error of PostgreSQL itself (a serialization failure, a deadlock) is retried at once: its
// contract says that the work may simply be run again.
void LoadClient::settle_refusal() {
    if (!has_error_) {
        pause(next_pause());
        return;
    }
    is_retry_ = true;
    if (!is_refusal(error_)) {
        pause(Duration(0));
        return;
    }
    switch (behaviour_.after_refusal) {
        case AfterRefusal::at_once: pause(Duration(0)); return;
        case AfterRefusal::obey: pause(retry_after(error_, behaviour_.default_retry_after)); return;
        case AfterRefusal::own_clock: pause(behaviour_.retry_every); return;
        case AfterRefusal::give_up:
            ++tally_.gave_up;
            is_retry_ = false;
            pause(next_pause());
            return;
    }
}

void LoadClient::pause(Duration span) {
    state_ = State::pausing;
    if (stopped_) return;
    if (span <= Duration(0)) {
        begin_attempt();
    } else {
        timer_.arm_after(span);
    }
}

void LoadClient::on_lost(bool was_logged_in, const ErrorFields& error) {
    if (was_logged_in) {
        ++tally_.connections_lost;
    } else {
        ++tally_.logins_refused;
        ++tally_.logins_refused_by[error.sqlstate.empty() ? error.message : error.sqlstate];
        tally_.login_refused_latency.record(read_clock() - connect_started_);
    }
    is_retry_ = is_retry_ || state_ == State::running;
    state_ = State::away;
    ready_owed_ = 0;
    if (!stopped_) timer_.arm_after(behaviour_.reconnect_after);
}

}  // namespace pgb::load

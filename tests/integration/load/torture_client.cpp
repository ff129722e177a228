#include "tests/integration/load/torture_client.h"

#include <fmt/format.h>

#include <utility>

#include "tests/support/load/clock.h"

namespace pgb::load {
namespace {

constexpr std::size_t kPipelineLength = 10;
constexpr std::uint64_t kCancelWithinUs = 6000;
constexpr std::uint64_t kLeaveWithinUs = 4000;
// A CancelRequest may come so late that it meets the session's next statement: PostgreSQL gives no
// better promise.
constexpr Duration kCancelMayStrike = std::chrono::seconds(3);
constexpr std::uint64_t kPauseAfterRefusalUs = 40'000;
constexpr Duration kReconnectAfter = std::chrono::milliseconds(1);
constexpr std::string_view kLong = "select pg_sleep(0.5)";

// In a hundred. A killed backend costs a login, so it is rare.
constexpr std::array<std::pair<Fate, unsigned>, kFates.size()> kShares = {{
    {Fate::ok_simple, 18},
    {Fate::ok_extended, 14},
    {Fate::ok_block, 14},
    {Fate::ok_pipeline, 6},
    {Fate::error, 8},
    {Fate::error_in_block, 8},
    {Fate::error_in_batch, 6},
    {Fate::cancel, 6},
    {Fate::timeout, 6},
    {Fate::leave_at_once, 5},
    {Fate::leave_in_block, 3},
    {Fate::leave_in_batch, 3},
    {Fate::leave_long, 2},
    {Fate::killed, 1},
}};

Fate draw(std::uint64_t percent) {
    for (const auto& [fate, share] : kShares) {
        if (percent < share) return fate;
        percent -= share;
    }
    return Fate::ok_simple;
}

bool leaves(Fate fate) {
    return fate == Fate::leave_at_once || fate == Fate::leave_in_block ||
           fate == Fate::leave_in_batch || fate == Fate::leave_long;
}

bool should_succeed(Fate fate) {
    return fate == Fate::ok_simple || fate == Fate::ok_extended || fate == Fate::ok_block ||
           fate == Fate::ok_pipeline;
}

std::string outcome_of(const ErrorFields& error) {
    const auto reason = hint_value(error.hint, "reason");
    return reason ? error.sqlstate + " " + std::string(*reason) : error.sqlstate;
}

}  // namespace

std::string_view to_string(Fate fate) {
    switch (fate) {
        case Fate::ok_simple: return "ok_simple";
        case Fate::ok_extended: return "ok_extended";
        case Fate::ok_block: return "ok_block";
        case Fate::ok_pipeline: return "ok_pipeline";
        case Fate::error: return "error";
        case Fate::error_in_block: return "error_in_block";
        case Fate::error_in_batch: return "error_in_batch";
        case Fate::cancel: return "cancel";
        case Fate::timeout: return "timeout";
        case Fate::leave_at_once: return "leave_at_once";
        case Fate::leave_in_block: return "leave_in_block";
        case Fate::leave_in_batch: return "leave_in_batch";
        case Fate::leave_long: return "leave_long";
        case Fate::killed: return "killed";
    }
    return "";
}

TortureClient::TortureClient(Loop& loop, const Target& target, Canceller& canceller,
                             TortureBook& book, const TortureRules& rules, std::uint64_t seed)
    : book_(book),
      rules_(rules),
      canceller_(canceller),
      random_(seed),
      player_(loop, target, *this),
      cancel_(loop,
              [this] {
                  cancelled_at_ = read_clock();
                  canceller_.fire(player_.target(), player_.cancel_key());
              }),
      departure_(loop, [this] { leave_now(); }),
      pause_(loop, [this] { next(); }),
      reconnect_(loop, [this] { log_in(); }) {}

Instant TortureClient::waiting_since() const {
    const bool owed =
        state_ == State::logging_in || state_ == State::playing || state_ == State::clearing;
    return owed ? asked_at_ : Instant::never();
}

void TortureClient::log_in() {
    if (book_.left_to_begin == 0) {
        state_ = State::done;
        return;
    }
    state_ = State::logging_in;
    asked_at_ = read_clock();
    player_.login();
}

void TortureClient::next() {
    if (book_.left_to_begin == 0) {
        state_ = State::done;
        return;
    }
    --book_.left_to_begin;
    ++book_.begun;
    fate_ = draw(below(100));
    number_ = ++book_.last_number;
    timeout_ms_ = static_cast<int>(1 + below(8));
    ++book_.by_fate[std::string(to_string(fate_))];
    state_ = State::playing;
    asked_at_ = read_clock();
    set_out();
}

void TortureClient::set_out() {
    const bool goes_on_after_errors = fate_ == Fate::error_in_block || fate_ == Fate::timeout;
    player_.play(writes_of(fate_), goes_on_after_errors ? OnError::go_on : OnError::stop);
    if (fate_ == Fate::cancel) {
        cancel_.arm_after(std::chrono::microseconds(below(kCancelWithinUs)));
    }
    if (leaves(fate_)) departure_.arm_after(std::chrono::microseconds(below(kLeaveWithinUs)));
}

std::vector<Framed> TortureClient::writes_of(Fate fate) const {
    const std::string select = fmt::format("select {}", number_);
    std::vector<Framed> writes;
    switch (fate) {
        case Fate::ok_simple: writes = {simple(select)}; break;
        case Fate::ok_extended: writes = {extended({select})}; break;
        case Fate::ok_block: writes = {simple("begin"), simple(select), simple("commit")}; break;
        case Fate::ok_pipeline:
            writes = {extended_batches(std::vector<std::string>(kPipelineLength, select))};
            break;
        case Fate::error: writes = {simple("select 1/0")}; break;
        case Fate::error_in_block:
            writes = {pipelined({"begin", "select 1/0", select, "rollback"})};
            break;
        case Fate::error_in_batch: writes = {extended({select, "select 1/0", select})}; break;
        case Fate::cancel: writes = {simple(kLong)}; break;
        case Fate::timeout:
            writes = {
                pipelined({"begin", fmt::format("set local statement_timeout = {}", timeout_ms_),
                           std::string(kLong), "rollback"})};
            break;
        case Fate::leave_at_once: writes = {simple("select pg_sleep(0.003)")}; break;
        case Fate::leave_in_block: writes = {pipelined({"begin", select})}; break;
        case Fate::leave_in_batch: writes = {Framed{leaving_bytes(), 1}}; break;
        case Fate::leave_long: writes = {simple(kLong)}; break;
        case Fate::killed:
            writes = {simple("select pg_terminate_backend(pg_backend_pid())")};
            break;
    }
    return writes;
}

std::string TortureClient::leaving_bytes() const {
    std::string bytes;
    frontend::parse_bind_execute(bytes, fmt::format("select {}", number_));
    return bytes;
}

void TortureClient::on_played(const Answers& answers) {
    if (state_ == State::playing) {
        judge(answers);
        was_refused_ = answers.is_refused();
        if (leaves(fate_)) return;  // the departure timer goes on
    }
    if (answers.status != 'I') {
        state_ = State::clearing;
        player_.play({simple("rollback")}, OnError::go_on);
        return;
    }
    go_on();
}

// Clients that came back at once would be refused at once, and little else would happen.
void TortureClient::go_on() {
    if (!was_refused_) {
        next();
        return;
    }
    state_ = State::pausing;
    pause_.arm_after(std::chrono::microseconds(below(kPauseAfterRefusalUs)));
}

void TortureClient::judge(const Answers& answers) {
    if (answers.has_error()) {
        const ErrorFields& error = answers.errors.front();
        ++book_.outcomes[outcome_of(error)];
        if (answers.is_refused()) {
            ++book_.refused;
        } else if (!explains(error)) {
            unexpected(error.sqlstate + " " + error.message);
        }
    } else {
        ++book_.ok;
        const bool had_to_fail = !should_succeed(fate_) && !leaves(fate_) && fate_ != Fate::cancel;
        if (had_to_fail) unexpected("no error");
    }
    check_values(answers);
}

bool TortureClient::explains(const ErrorFields& error) const {
    if (error.sqlstate == "57014") {
        return fate_ == Fate::timeout || fate_ == Fate::cancel ||
               read_clock() - cancelled_at_ < kCancelMayStrike;
    }
    if (error.sqlstate == "22012") {
        return fate_ == Fate::error || fate_ == Fate::error_in_block ||
               fate_ == Fate::error_in_batch;
    }
    return error.sqlstate == "08007" && fate_ == Fate::killed;
}

std::size_t TortureClient::values_expected() const {
    switch (fate_) {
        case Fate::ok_simple:
        case Fate::ok_extended:
        case Fate::ok_block: return 1;
        case Fate::ok_pipeline: return kPipelineLength;
        case Fate::error:
        case Fate::error_in_block:
        case Fate::error_in_batch:
        case Fate::cancel:
        case Fate::timeout:
        case Fate::leave_at_once:
        case Fate::leave_in_block:
        case Fate::leave_in_batch:
        case Fate::leave_long:
        case Fate::killed: return 0;
    }
    return 0;
}

// With an error some values may be missing (all of them after a refusal), but none may be foreign.
void TortureClient::check_values(const Answers& answers) {
    if (should_succeed(fate_) && !answers.has_error() &&
        answers.values.size() != values_expected()) {
        unexpected(fmt::format("{} values", answers.values.size()));
    }
    if (!should_succeed(fate_) && fate_ != Fate::error_in_batch) return;
    for (const std::string& value : answers.values) {
        if (value != std::to_string(number_)) unexpected("a foreign value");
    }
}

void TortureClient::unexpected(const std::string& what) {
    ++book_.unexpected[std::string(to_string(fate_)) + ": " + what];
}

void TortureClient::leave_now() {
    constexpr std::array kGoodbyes = {Goodbye::terminate, Goodbye::fin, Goodbye::reset};
    player_.leave(kGoodbyes[below(kGoodbyes.size())]);
    ++book_.left;
    state_ = State::away;
    reconnect_.arm_after(kReconnectAfter);
}

void TortureClient::on_player_lost(const Answers&, const ErrorFields& error) {
    cancel_.disarm();
    departure_.disarm();
    pause_.disarm();
    if (state_ == State::logging_in) ++book_.logins_failed;
    if (!rules_.connection_may_be_lost) {
        unexpected("connection lost: " + error.sqlstate + " " + error.message);
    } else {
        ++book_.outcomes["connection lost"];
    }
    state_ = State::away;
    reconnect_.arm_after(kReconnectAfter);
}

}  // namespace pgb::load

#include "tests/integration/load/fire_client.h"

#include <fmt/format.h>

#include <utility>

#include "tests/support/load/clock.h"

namespace pgb::load {
namespace {

constexpr std::uint64_t kWindowUs = 2500;  // a cancel strikes within this, before or after
constexpr unsigned kCancelPercent = 60;
constexpr unsigned kControlPercent = 30;
constexpr unsigned kLeavePercent = 10;
constexpr Duration kReconnectAfter = std::chrono::milliseconds(5);

// PostgreSQL skips what follows an error in the same Query or up to the Sync, and a client that
// goes step by step stops there: with fewer tags than BEGIN's and INSERT's, COMMIT was not reached.
bool commit_never_ran(FireStyle style, const Answers& answers) {
    const bool later_batches_run =
        style == FireStyle::pipelined || style == FireStyle::extended_batches;
    return answers.has_error() && !later_batches_run && answers.tags.size() < 2;
}

}  // namespace

std::string_view to_string(FireStyle style) {
    switch (style) {
        case FireStyle::one_by_one: return "one_by_one";
        case FireStyle::pipelined: return "pipelined";
        case FireStyle::multi_statement: return "multi_statement";
        case FireStyle::extended_batch: return "extended_batch";
        case FireStyle::extended_batches: return "extended_batches";
        case FireStyle::extended_steps: return "extended_steps";
    }
    return "";
}

FireClient::FireClient(Loop& loop, const Target& target, Canceller& canceller, FireBook& book,
                       std::uint64_t seed)
    : book_(book),
      canceller_(canceller),
      random_(seed),
      player_(loop, target, *this),
      start_(loop, [this] { player_.play(framed(statements()), OnError::stop); }),
      cancel_(loop, [this] { canceller_.fire(player_.target(), player_.cancel_key()); }),
      departure_(loop, [this] { leave_now(); }),
      reconnect_(loop, [this] {
          if (stopped_) return;
          state_ = State::logging_in;
          asked_at_ = read_clock();
          player_.login();
      }) {
    state_ = State::logging_in;
    asked_at_ = read_clock();
}

Instant FireClient::waiting_since() const {
    return state_ == State::away ? Instant::never() : asked_at_;
}

void FireClient::on_login() {
    if (stopped_) {
        leave_now();
        return;
    }
    begin_transaction();
}

// The cancel is drawn around the transaction's first byte, so that it may meet BEGIN itself, the
// statement after it, or a moment in which nothing runs.
void FireClient::begin_transaction() {
    style_ = kFireStyles[below(kFireStyles.size())];
    is_control_ = chance(kControlPercent);
    sleeps_ = chance(50);
    id_ = ++book_.last_id;
    ++book_.transactions;
    ++book_.by_style[std::string(to_string(style_))];
    state_ = State::playing;
    asked_at_ = read_clock();
    if (chance(kCancelPercent)) cancel_.arm_after(some_us(2 * kWindowUs));
    if (!is_control_ && chance(kLeavePercent)) departure_.arm_after(some_us(4 * kWindowUs));
    start_.arm_after(some_us(kWindowUs));
}

std::vector<std::string> FireClient::statements() const {
    const std::string_view table = is_control_ ? "fire_control" : "fire";
    const std::string_view slowly = sleeps_ ? " from pg_sleep(0.002)" : "";
    std::vector<std::string> sql = {"begin", fmt::format("insert into {} select {}, '{}'{}", table,
                                                         id_, to_string(style_), slowly)};
    if (is_control_) sql.emplace_back("commit");
    return sql;
}

std::vector<Framed> FireClient::framed(const std::vector<std::string>& sql) const {
    std::vector<Framed> writes;
    switch (style_) {
        case FireStyle::one_by_one:
            for (const std::string& text : sql) writes.push_back(simple(text));
            break;
        case FireStyle::pipelined: writes.push_back(pipelined(sql)); break;
        case FireStyle::multi_statement: {
            std::string all;
            for (const std::string& text : sql) all += text + ";";
            writes.push_back(simple(all));
            break;
        }
        case FireStyle::extended_batch: writes.push_back(extended(sql)); break;
        case FireStyle::extended_batches: writes.push_back(extended_batches(sql)); break;
        case FireStyle::extended_steps:
            for (const std::string& text : sql) writes.push_back(extended({text}));
            break;
    }
    return writes;
}

void FireClient::on_played(const Answers& answers) {
    if (state_ == State::playing) {
        note_answers(answers);
        if (is_control_) note_control(answers);
    }
    go_on(answers.status);
}

void FireClient::note_answers(const Answers& answers) {
    if (!answers.has_error()) return;
    if (answers.is_refused()) {
        ++book_.refused;
        return;
    }
    const ErrorFields& error = answers.errors.front();
    ++book_.errors[error.sqlstate + " " + error.message];
}

void FireClient::note_control(const Answers& answers) {
    const std::string last = answers.tags.empty() ? "" : answers.tags.back();
    // A timeout or a cancel may still strike between COMMIT and the Sync behind it: PostgreSQL then says
    // COMMIT, and an error after it.
    const bool struck_before =
        answers.has_error() && answers.tags_before_error < answers.tags.size();
    if (last == "COMMIT" && !struck_before) {
        book_.acknowledged.push_back(id_);
        return;
    }
    if (last == "ROLLBACK" || commit_never_ran(style_, answers)) {
        book_.rolled_back.push_back(id_);
        return;
    }
    if (last == "COMMIT") ++book_.commit_said_after_error;
    book_.unknown.push_back(id_);
}

void FireClient::go_on(char status) {
    departure_.disarm();
    if (status != 'I') {
        if (chance(kLeavePercent)) {
            leave_now();
            return;
        }
        state_ = State::clearing;
        std::vector<Framed> writes;
        writes.push_back(simple("rollback"));
        player_.play(std::move(writes), OnError::go_on);
        return;
    }
    if (stopped_) {
        leave_now();
        return;
    }
    begin_transaction();
}

void FireClient::leave_now() {
    start_.disarm();
    cancel_.disarm();
    departure_.disarm();
    constexpr std::array kGoodbyes = {Goodbye::terminate, Goodbye::fin, Goodbye::reset};
    player_.leave(kGoodbyes[below(kGoodbyes.size())]);
    ++book_.left;
    state_ = State::away;
    reconnect_.arm_after(kReconnectAfter);
}

void FireClient::on_player_lost(const Answers& answers, const ErrorFields& error) {
    start_.disarm();
    cancel_.disarm();
    departure_.disarm();
    ++book_.connections_lost;
    ++book_.errors["connection lost: " + error.sqlstate + " " + error.message];
    if (state_ == State::playing && is_control_) {
        const bool said_commit =
            !answers.tags.empty() && answers.tags.back() == "COMMIT" && !answers.has_error();
        (said_commit ? book_.acknowledged : book_.unknown).push_back(id_);
    }
    state_ = State::away;
    reconnect_.arm_after(kReconnectAfter);
}

}  // namespace pgb::load

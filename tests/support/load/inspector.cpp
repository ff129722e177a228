#include "tests/support/load/inspector.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/support/load/clock.h"

namespace pgb::load {
namespace {
constexpr Duration kPatience = std::chrono::seconds(30);
}  // namespace

Inspector::Inspector(Loop& loop, Target target)
    : loop_(loop), player_(loop, std::move(target), *this) {}

void Inspector::on_played(const Answers& answers) {
    answers_ = answers;
    state_ = State::answered;
}

void Inspector::on_player_lost(const Answers&, const ErrorFields& error) {
    answers_ = {};
    answers_.errors.push_back(error);
    state_ = State::lost;
}

bool Inspector::wait_while(State state) {
    return loop_.run_until(read_clock() + kPatience, [this, state] { return state_ != state; });
}

Result<std::vector<std::string>> Inspector::column(std::string_view sql) {
    if (state_ == State::away || state_ == State::lost) {
        state_ = State::away;
        player_.login();
        wait_while(State::away);
        if (state_ != State::idle) return Error{"cannot log in to PostgreSQL"};
    }
    state_ = State::asking;
    std::vector<Framed> writes;
    writes.push_back(simple(sql));
    player_.play(std::move(writes), OnError::stop);
    if (!wait_while(State::asking)) return Error{"no answer from PostgreSQL"};
    if (answers_.has_error()) return Error{answers_.errors.front().message};
    return answers_.values;
}

std::int64_t Inspector::number(std::string_view sql) {
    const Result<std::vector<std::string>> rows = column(sql);
    if (!rows || rows->size() != 1) {
        std::fprintf(stderr, "PostgreSQL gave no number for: %.*s: %s\n",
                     static_cast<int>(sql.size()), sql.data(),
                     rows ? "not one row" : rows.error().message.c_str());
        std::exit(2);
    }
    std::int64_t value = 0;
    const std::string& text = rows->front();
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace pgb::load

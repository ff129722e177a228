#include "tests/support/load/player.h"

#include <algorithm>
#include <utility>

namespace pgb::load {

bool Answers::has_error(std::string_view sqlstate) const {
    return std::any_of(errors.begin(), errors.end(),
                       [&](const ErrorFields& error) { return error.sqlstate == sqlstate; });
}

bool Answers::is_refused() const {
    return has_error() && hint_value(errors.front().hint, "reason").has_value();
}

Player::Player(Loop& loop, Target target, PlayerOwner& owner)
    : owner_(owner), connection_(loop, std::move(target), *this) {}

void Player::play(std::vector<Framed> writes, OnError on_error) {
    writes_ = std::move(writes);
    on_error_ = on_error;
    next_ = 0;
    answers_ = {};
    send_next();
}

void Player::send_next() {
    const Framed& write = writes_[next_];
    ++next_;
    ready_owed_ = write.ready_count;
    connection_.send(write.bytes);
}

void Player::on_message(const Message& message) {
    switch (message.type) {
        case 'E':
            if (answers_.errors.empty()) answers_.tags_before_error = answers_.tags.size();
            answers_.errors.push_back(parse_error(message.body));
            return;
        case 'C': answers_.tags.emplace_back(command_tag(message.body)); return;
        case 'D':
            answers_.values.emplace_back(first_column(message.body).value_or(std::string_view()));
            return;
        case 'Z':
            if (ready_owed_ > 0 && --ready_owed_ == 0) on_answered();
            return;
        default: return;
    }
}

void Player::on_answered() {
    const bool stops = answers_.has_error() && on_error_ == OnError::stop;
    if (!stops && next_ < writes_.size()) {
        send_next();
        return;
    }
    answers_.status = connection_.transaction_status();
    const Answers answers = std::exchange(answers_, {});
    owner_.on_played(answers);
}

void Player::on_lost(bool, const ErrorFields& error) {
    ready_owed_ = 0;
    const Answers answers = std::exchange(answers_, {});
    owner_.on_player_lost(answers, error);
}

Framed simple(std::string_view sql) {
    Framed framed;
    frontend::query(framed.bytes, sql);
    framed.ready_count = 1;
    return framed;
}

Framed pipelined(const std::vector<std::string>& statements) {
    Framed framed;
    for (const std::string& sql : statements) frontend::query(framed.bytes, sql);
    framed.ready_count = statements.size();
    return framed;
}

Framed extended(const std::vector<std::string>& statements) {
    Framed framed;
    for (const std::string& sql : statements) frontend::parse_bind_execute(framed.bytes, sql);
    frontend::sync(framed.bytes);
    framed.ready_count = 1;
    return framed;
}

Framed extended_batches(const std::vector<std::string>& statements) {
    Framed framed;
    for (const std::string& sql : statements) {
        frontend::parse_bind_execute(framed.bytes, sql);
        frontend::sync(framed.bytes);
    }
    framed.ready_count = statements.size();
    return framed;
}

}  // namespace pgb::load

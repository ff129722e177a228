#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proxy/base/result.h"
#include "tests/support/load/player.h"

namespace pgb::load {

/// Asks PostgreSQL itself and waits for the answer; the loop turns meanwhile.
class Inspector final : private PlayerOwner {
public:
    Inspector(Loop& loop, Target target);

    /// The first column of all rows; an error when the statement fails or takes over 30 s.
    Result<std::vector<std::string>> column(std::string_view sql);
    /// The single number of a statement; a failure ends the program, as no verdict is possible.
    std::int64_t number(std::string_view sql);

private:
    enum class State { away, idle, asking, answered, lost };

    void on_login() override { state_ = State::idle; }
    void on_played(const Answers& answers) override;
    void on_player_lost(const Answers& answers, const ErrorFields& error) override;
    bool wait_while(State state);

    Loop& loop_;
    Player player_;
    State state_ = State::away;
    Answers answers_;
};

}  // namespace pgb::load

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/load/canceller.h"
#include "tests/support/load/player.h"

namespace pgb::load {

/// How `BEGIN; INSERT` and, in the control group, `COMMIT` travel.
enum class FireStyle : std::uint8_t {
    one_by_one,        ///< a Query each, after the answer to the one before
    pipelined,         ///< a Query each, in one write
    multi_statement,   ///< one Query that holds them all
    extended_batch,    ///< one batch, one Sync
    extended_batches,  ///< a batch and a Sync each, in one write
    extended_steps,    ///< a batch and a Sync each, after the answer to the one before
};
inline constexpr std::array kFireStyles = {FireStyle::one_by_one,       FireStyle::pipelined,
                                           FireStyle::multi_statement,  FireStyle::extended_batch,
                                           FireStyle::extended_batches, FireStyle::extended_steps};
std::string_view to_string(FireStyle style);

/// What all clients of the fire have done and heard.
struct FireBook {
    std::uint64_t transactions = 0;
    std::uint64_t refused = 0;
    std::uint64_t left = 0;  ///< disconnected on purpose
    std::uint64_t connections_lost = 0;
    std::uint64_t commit_said_after_error = 0;
    std::map<std::string, std::uint64_t> by_style;
    std::map<std::string, std::uint64_t> errors;  ///< "SQLSTATE message" -> count

    /// The control group, by the number that its row would carry.
    std::vector<std::uint64_t> acknowledged;  ///< COMMIT was answered with COMMIT, no error before
    std::vector<std::uint64_t>
        rolled_back;                     ///< COMMIT was answered with ROLLBACK, or never reached
    std::vector<std::uint64_t> unknown;  ///< anything else

    std::uint64_t last_id = 0;  ///< of the last transaction begun; unique over all clients
};

/// Opens transactions, inserts, and ends them without COMMIT (but for the control group), while
/// its own CancelRequests strike at random moments around them.
///
///   away --login--> playing --answered--> (clearing) --> playing ...
///     ^                '--leaves in the middle or after, on purpose--'
class FireClient final : private PlayerOwner {
public:
    FireClient(Loop& loop, const Target& target, Canceller& canceller, FireBook& book,
               std::uint64_t seed);

    void start() { player_.login(); }
    void stop() { stopped_ = true; }
    [[nodiscard]] bool is_at_rest() const { return stopped_ && state_ == State::away; }
    /// When the answers that are owed were asked for; never() when none are.
    [[nodiscard]] Instant waiting_since() const;

private:
    enum class State { away, logging_in, playing, clearing };

    void on_login() override;
    void on_played(const Answers& answers) override;
    void on_player_lost(const Answers& answers, const ErrorFields& error) override;

    void begin_transaction();
    [[nodiscard]] std::vector<std::string> statements() const;
    [[nodiscard]] std::vector<Framed> framed(const std::vector<std::string>& sql) const;
    void note_answers(const Answers& answers);
    void note_control(const Answers& answers);
    void go_on(char status);
    void leave_now();
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool chance(unsigned percent) { return below(100) < percent; }
    Duration some_us(std::uint64_t limit) { return std::chrono::microseconds(below(limit)); }

    FireBook& book_;
    Canceller& canceller_;
    std::mt19937_64 random_;
    Player player_;
    Timer start_;
    Timer cancel_;
    Timer departure_;
    Timer reconnect_;

    State state_ = State::away;
    bool stopped_ = false;
    Instant asked_at_;
    FireStyle style_ = FireStyle::one_by_one;
    bool is_control_ = false;
    bool sleeps_ = false;
    std::uint64_t id_ = 0;
};

}  // namespace pgb::load

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>

#include "tests/support/load/canceller.h"
#include "tests/support/load/player.h"

namespace pgb::load {

/// What a client sets out to do in one transaction.
enum class Fate : std::uint8_t {
    ok_simple,       ///< one statement, its answer checked
    ok_extended,     ///< the same as an extended batch
    ok_block,        ///< BEGIN, a statement, COMMIT, each after the answer to the one before
    ok_pipeline,     ///< ten batches in one write, all answers checked
    error,           ///< a statement that fails
    error_in_block,  ///< the same between BEGIN and ROLLBACK
    error_in_batch,  ///< a batch whose second statement fails and whose third is skipped
    cancel,          ///< a long statement and a CancelRequest a moment later
    timeout,         ///< a long statement under its own statement_timeout
    leave_at_once,   ///< disconnects after a moment, mostly while queued
    leave_in_block,  ///< disconnects with a block open
    leave_in_batch,  ///< disconnects with a batch that has no Sync
    leave_long,      ///< disconnects from a long statement
    killed,          ///< its backend ends itself in the middle
};
inline constexpr std::array kFates = {
    Fate::ok_simple,  Fate::ok_extended,    Fate::ok_block,       Fate::ok_pipeline,
    Fate::error,      Fate::error_in_block, Fate::error_in_batch, Fate::cancel,
    Fate::timeout,    Fate::leave_at_once,  Fate::leave_in_block, Fate::leave_in_batch,
    Fate::leave_long, Fate::killed};
std::string_view to_string(Fate fate);

struct TortureBook {
    std::uint64_t left_to_begin = 0;  ///< transactions that may still be begun
    std::uint64_t begun = 0;
    std::uint64_t ok = 0;
    std::uint64_t refused = 0;
    std::uint64_t left = 0;
    std::uint64_t logins_failed = 0;
    std::map<std::string, std::uint64_t> by_fate;
    std::map<std::string, std::uint64_t> outcomes;    ///< SQLSTATE, with the reason of refusals
    std::map<std::string, std::uint64_t> unexpected;  ///< "fate: what came" -> count
    std::uint64_t last_number = 0;                    ///< unique over all clients
};

/// What a run may end in besides the fate itself.
struct TortureRules {
    /// The peer is PostgreSQL itself: a killed backend takes its connection along.
    bool connection_may_be_lost = false;
};

/// One client that meets fate after fate and checks every answer: a value that belongs to another
/// session, an error that its fate does not explain, or a lost connection is unexpected.
class TortureClient final : private PlayerOwner {
public:
    TortureClient(Loop& loop, const Target& target, Canceller& canceller, TortureBook& book,
                  const TortureRules& rules, std::uint64_t seed);

    void start() { log_in(); }
    [[nodiscard]] bool is_done() const { return state_ == State::done; }
    /// When the answers that are owed were asked for; never() when none are.
    [[nodiscard]] Instant waiting_since() const;
    [[nodiscard]] Fate fate() const { return fate_; }
    void leave() { player_.leave(Goodbye::terminate); }

private:
    enum class State { away, logging_in, playing, clearing, pausing, done };

    void on_login() override { next(); }
    void on_played(const Answers& answers) override;
    void on_player_lost(const Answers& answers, const ErrorFields& error) override;

    void log_in();
    void next();
    void go_on();
    void set_out();
    [[nodiscard]] std::vector<Framed> writes_of(Fate fate) const;
    [[nodiscard]] std::string leaving_bytes() const;
    void judge(const Answers& answers);
    [[nodiscard]] bool explains(const ErrorFields& error) const;
    [[nodiscard]] std::size_t values_expected() const;
    void check_values(const Answers& answers);
    void unexpected(const std::string& what);
    void leave_now();
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

    TortureBook& book_;
    const TortureRules& rules_;
    Canceller& canceller_;
    std::mt19937_64 random_;
    Player player_;
    Timer cancel_;
    Timer departure_;
    Timer pause_;
    Timer reconnect_;

    State state_ = State::away;
    Instant asked_at_;
    Instant cancelled_at_;
    bool was_refused_ = false;
    Fate fate_ = Fate::ok_simple;
    std::uint64_t number_ = 0;
    int timeout_ms_ = 1;
};

}  // namespace pgb::load

#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "tests/support/load/connection.h"
#include "tests/support/load/script.h"
#include "tests/support/load/tally.h"

namespace pgb::load {

/// What a client does with a transaction that was refused.
enum class AfterRefusal {
    at_once,    ///< tries it again at once
    obey,       ///< tries it again after the hint's retry_after_ms
    own_clock,  ///< tries it again after a time of its own, whatever the hint says
    give_up,    ///< counts it as given up and goes on with the next
};

struct Behaviour {
    AfterRefusal after_refusal = AfterRefusal::obey;
    Duration think{0};  ///< between transactions
    /// Open loop: each client's transactions come at random moments of this mean distance, however
    /// long one takes; those that come while one is under way are missed. 0: closed loop.
    Duration arrive_every{0};
    Duration retry_every{0};      ///< the time of its own
    Duration reconnect_after{0};  ///< between a lost or refused connection and the next try
    /// The wait of an obeying client after a refusal that names no time.
    Duration default_retry_after = std::chrono::milliseconds(100);
};

/// One client: log in, run the script, think or wait for the next arrival, again; for ever.
///
///            .-------------------- lost ---------------------.
///            v                                               |
///   away --login--> running --answered--> (clearing) --> pausing --timer--> running
///                                 an open block is rolled back first
///
/// Shares script, behaviour and tally with its siblings; all outlive it.
class LoadClient final : private ConnectionHandler {
public:
    LoadClient(Loop& loop, const Target& target, const Script& script, const Behaviour& behaviour,
               Tally& tally, std::uint64_t seed);

    void start_after(Duration delay);
    /// Starts nothing new; what is running may end. Then is_at_rest() becomes true.
    void stop();
    [[nodiscard]] bool is_at_rest() const;
    void leave() { connection_.close(Goodbye::terminate); }
    /// Successes since the last reset_count().
    [[nodiscard]] std::uint64_t ok_count() const { return ok_count_; }
    void reset_count() { ok_count_ = 0; }

private:
    enum class State { away, pausing, running, clearing };

    void on_ready() override;
    void on_message(const Message& message) override;
    void on_lost(bool was_logged_in, const ErrorFields& error) override;

    void wake();
    void begin_attempt();
    void send_step();
    void on_answered();
    void note_error(const ErrorFields& error);
    void finish_attempt();
    void settle_refusal();
    void pause(Duration span);
    [[nodiscard]] Duration next_pause();

    const Script& script_;
    const Behaviour& behaviour_;
    Tally& tally_;
    std::mt19937_64 random_;
    Connection connection_;
    Timer timer_;

    State state_ = State::away;
    bool stopped_ = false;
    std::size_t step_ = 0;
    std::size_t ready_owed_ = 0;
    bool is_retry_ = false;
    bool has_error_ = false;
    ErrorFields error_;  ///< the first of the attempt
    Instant connect_started_;
    Instant transaction_started_;
    Instant attempt_started_;
    Instant next_arrival_;
    std::uint64_t ok_count_ = 0;
};

}  // namespace pgb::load

#pragma once

#include <cstdint>
#include <string>

#include "tests/support/load/connection.h"

namespace pgb::load {

/// Asks PostgreSQL itself, over a connection of its own, one number again and again: how many
/// backends there are, or how many run a query. Keeps the last and the largest answer.
class Sampler final : private ConnectionHandler {
public:
    Sampler(Loop& loop, Target target, std::string sql, Duration every);

    void start() { connection_.open(); }
    [[nodiscard]] bool is_ready() const { return connection_.is_ready(); }
    [[nodiscard]] std::int64_t last() const { return last_; }
    [[nodiscard]] std::int64_t max() const { return max_; }
    [[nodiscard]] std::uint64_t sample_count() const { return sample_count_; }
    void reset();
    /// Empty while the sampler works; else why it stopped.
    [[nodiscard]] const std::string& failure() const { return failure_; }

private:
    void on_ready() override { ask(); }
    void on_message(const Message& message) override;
    void on_lost(bool was_logged_in, const ErrorFields& error) override;
    void ask();

    Connection connection_;
    Timer timer_;
    std::string sql_;
    Duration every_;
    std::int64_t last_ = 0;
    std::int64_t max_ = 0;
    std::uint64_t sample_count_ = 0;
    std::string failure_;
};

}  // namespace pgb::load

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/load/connection.h"
#include "tests/support/load/script.h"

namespace pgb::load {

/// What the peer answered to one play.
struct Answers {
    std::vector<ErrorFields> errors;
    std::vector<std::string> tags;      ///< CommandComplete, in order
    std::size_t tags_before_error = 0;  ///< of `tags`, those that came before the first error
    std::vector<std::string> values;    ///< the first column of each row, in order
    char status = 'I';                  ///< of the last ReadyForQuery

    [[nodiscard]] bool has_error() const { return !errors.empty(); }
    [[nodiscard]] bool has_error(std::string_view sqlstate) const;
    /// True when the first error is a refusal: its HINT carries `reason=`.
    [[nodiscard]] bool is_refused() const;
};

class PlayerOwner {
public:
    virtual void on_login() = 0;
    virtual void on_played(const Answers& answers) = 0;
    /// The peer ended the connection, or refused the login; `answers` hold what came before.
    virtual void on_player_lost(const Answers& answers, const ErrorFields& error) = 0;

protected:
    ~PlayerOwner() = default;
};

/// What follows an error in the middle of a play.
enum class OnError { go_on, stop };

/// A connection that plays one list of writes at a time and says what came of it.
class Player final : private ConnectionHandler {
public:
    Player(Loop& loop, Target target, PlayerOwner& owner);

    void login() { connection_.open(); }
    /// Sends the first write now and each next one when the one before is fully answered.
    void play(std::vector<Framed> writes, OnError on_error);
    /// Leaves, in the middle of a play too; what is still to come is not heard.
    void leave(Goodbye goodbye) { connection_.close(goodbye); }

    [[nodiscard]] CancelKey cancel_key() const { return connection_.cancel_key(); }
    [[nodiscard]] const Target& target() const { return connection_.target(); }

private:
    void on_ready() override { owner_.on_login(); }
    void on_message(const Message& message) override;
    void on_lost(bool was_logged_in, const ErrorFields& error) override;
    void send_next();
    void on_answered();

    PlayerOwner& owner_;
    Connection connection_;
    std::vector<Framed> writes_;
    OnError on_error_ = OnError::stop;
    std::size_t next_ = 0;
    std::size_t ready_owed_ = 0;
    Answers answers_;
};

/// Framing for tests: texts without `:rnd`.
Framed simple(std::string_view sql);
Framed pipelined(const std::vector<std::string>& statements);
/// One batch, one Sync.
Framed extended(const std::vector<std::string>& statements);
/// A batch with a Sync for each statement, all in one write.
Framed extended_batches(const std::vector<std::string>& statements);

}  // namespace pgb::load

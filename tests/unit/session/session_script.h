#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "proxy/session/session.h"

namespace pgb::test {

/// One session machine that is told, line by line, what happens around it, and says what it wants
/// done. tests/scripts/session/README.md is the language.
class SessionScript {
public:
    /// Whether the session comes to rest and is made anew as often as it may.
    enum class Rest : std::uint8_t { never, always };

    explicit SessionScript(Rest rest);

    /// The outcome of one line's left side, in the words of its right side.
    [[nodiscard]] std::string step(const std::vector<std::string>& words);

private:
    void frontend(const std::vector<std::string>& words);
    void backend(const std::vector<std::string>& words);
    void event(const std::vector<std::string>& words);
    void feed();
    void rest_if_it_may();
    [[nodiscard]] std::string collect();
    [[nodiscard]] Turn turn() const { return {now_, contended_}; }

    Rest rest_;
    StateTracking tracking_;
    SessionTables tables_;
    StatementRegistry statements_;
    std::unique_ptr<Session> session_;
    Outbox out_;
    BackendBook book_;
    std::deque<std::string> kept_;
    std::string input_;    // of the frontend, not taken yet
    std::string replies_;  // of the backend, not taken yet
    Instant now_{std::chrono::seconds(1)};
    Duration deadline_{0};
    bool contended_ = false;
    bool blocked_ = false;
    bool watches_ = false;
};

/// Cuts a line into words; what stands in double quotes is one word, quotes included.
[[nodiscard]] std::vector<std::string> script_words(const std::string& line);

}  // namespace pgb::test

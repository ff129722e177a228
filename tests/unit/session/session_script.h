#pragma once

#include <deque>
#include <string>
#include <vector>

#include "proxy/session/session.h"

namespace pgb::test {

/// One session machine that is told, line by line, what happens around it, and says what it wants
/// done. tests/scripts/session/README.md is the language.
class SessionScript {
public:
    SessionScript();

    /// The outcome of one line's left side, in the words of its right side.
    [[nodiscard]] std::string step(const std::vector<std::string>& words);

private:
    void frontend(const std::vector<std::string>& words);
    void backend(const std::vector<std::string>& words);
    void event(const std::vector<std::string>& words);
    void feed();
    [[nodiscard]] std::string collect();
    [[nodiscard]] Turn turn() const { return {now_, contended_}; }

    StateTracking tracking_;
    SessionTables tables_;
    StatementRegistry statements_;
    Session session_;
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

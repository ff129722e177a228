#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proxy/base/instant.h"

namespace pgb {

/// The beginning of the statement that a backend was sent last: for people who ask who holds the
/// database. Kept as it came, so whoever shows it must mask its literals. Parameters are never in
/// it. One for each backend, in place; noting costs a copy of at most kMax bytes.
class LastStatement {
public:
    static constexpr std::size_t kMax = 1024;

    void note(std::string_view text) {
        whole_ = text.size() <= kMax;
        size_ = static_cast<std::uint16_t>(text.copy(text_.data(), kMax));
    }
    /// Something was sent whose text is not known.
    void forget() { size_ = 0; }

    /// Empty: not known.
    [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }
    [[nodiscard]] bool whole() const { return whole_; }

private:
    std::array<char, kMax> text_{};
    std::uint16_t size_ = 0;
    bool whole_ = true;
};

/// How long the statements of one lease take, from the moment one was sent, or its turn came behind
/// others in a pipeline, to its ReadyForQuery.
class StatementClock {
public:
    /// Something is under way.
    void sent(Instant now) {
        if (running_) return;
        running_ = true;
        since_ = now;
    }
    /// A ReadyForQuery has come; `more`: something else is under way. Returns what it took.
    Duration answered(Instant now, bool more) {
        const Duration took = now - since_;
        since_ = now;
        running_ = more;
        return took;
    }
    /// When what is under way began; if nothing is, when the last has ended.
    [[nodiscard]] Instant since() const { return since_; }

private:
    Instant since_;
    bool running_ = false;
};

/// What a session does with its permit.
enum class Activity : std::uint8_t {
    waiting_backend,    ///< It has no backend yet.
    running,            ///< Something is under way on its backend.
    awaiting_frontend,  ///< A transaction is open, and it is for the frontend to go on.
    locked,             ///< No transaction; an advisory lock keeps the permit.
    cleaning,           ///< The backend takes on or drops state.
    leaving,            ///< The frontend has gone; its work is being ended.
};

/// The answer of Session::holding(); valid until the session's next event.
struct Holding {
    Activity activity = Activity::running;
    Instant since;  ///< When that began; if it is not known, when the permit was granted.
};

}  // namespace pgb

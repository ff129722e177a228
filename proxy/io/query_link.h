#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "proxy/io/backend_link.h"
#include "proxy/io/loop.h"
#include "proxy/io/socket.h"

namespace pgb {

/// What became of one question.
struct QueryAnswer {
    using Row = std::vector<std::optional<std::string>>;

    std::vector<Row> rows;  ///< Each value as PostgreSQL writes it; none: NULL.
    /// Not empty: there are no rows, and why; one line in the words of the server or of libpq.
    std::string trouble;
};

/// A connection on which the proxy itself asks PostgreSQL, one question at a time. libpq speaks the
/// protocol; it never waits. What comes unasked (notices, parameters) is dropped.
///
///     idle --ask()--> asked --rows, an error--> idle
///      |                |
///      '---connection---'---> lost: on_answer or ask() says why; nothing may be asked any more
///
/// on_answer is called in the phase of the events; the link must not be destroyed inside it.
class QueryLink final : public SocketEvents {
public:
    using OnAnswer = std::function<void(QueryAnswer)>;

    /// Takes over an open link that nothing was read from or written to.
    QueryLink(Loop& loop, BackendLink link, OnAnswer on_answer);
    /// Closes without waiting; a goodbye is said only when idle.
    ~QueryLink();
    QueryLink(const QueryLink&) = delete;
    QueryLink& operator=(const QueryLink&) = delete;

    /// Only when idle. `parameter` is $1, as text. Empty: it was asked, and the answer comes later,
    /// never inside this call. Else the connection is lost, and this is why.
    [[nodiscard]] std::string ask(const std::string& sql, const std::string& parameter);
    [[nodiscard]] bool is_idle() const { return state_ == State::idle; }
    [[nodiscard]] bool is_lost() const { return state_ == State::lost; }

private:
    enum class State { idle, asked, lost };

    void on_ready(bool readable, bool writable) override;
    void watch();
    [[nodiscard]] bool flush();
    void take_results();
    std::string lose();

    Loop& loop_;
    OnAnswer on_answer_;
    pg_conn* connection_;
    std::optional<Socket> socket_;  // none while libpq is at work, as it may close its descriptor
    State state_ = State::idle;
    bool unsent_ = false;
    QueryAnswer answer_;
};

}  // namespace pgb

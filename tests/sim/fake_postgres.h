#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/ready_for_query.h"
#include "proxy/base/instant.h"
#include "tests/sim/books.h"
#include "tests/sim/dice.h"

namespace pgb::sim {

/// One PostgreSQL process as a client of the protocol sees it: it skips to Sync after an error,
/// eats Syncs in COPY, holds replies back until Sync or Flush, knows blocks and implicit
/// transactions, prepared statements and portals, is slow, can be cancelled, and dies.
///
/// It understands a handful of texts only; `TAG` is who sent them (books.h):
///   select 'TAG' | select pg_sleep(1), 'TAG' | select 1/0, 'TAG' | select leaves('TAG')
///   insert into t values ('TAG') | copy t from stdin -- TAG | copy t to stdout -- TAG
///   set application_name = 'TAG' | select shows('TAG') | reset all | discard all
///   select set_config('application_name', $1, false), of which TAG is the parameter
///   the transaction statements, and what the proxy itself says to set up settings
class FakePostgres {
public:
    FakePostgres(Books& books, Dice& dice) : books_(books), dice_(dice) {}

    void receive(std::string_view bytes) { input_ += bytes; }
    /// The peer has closed: what was received still runs, then the process ends.
    void receive_eof() { eof_ = true; }
    /// Goes on as far as it can by `now`.
    void run(Instant now);
    /// A cancel signal.
    void cancel(Instant now);
    /// FATAL, or silence: the process ends and its open transaction with it.
    void die(bool with_a_word);
    /// It answers nothing any more and notices no signal, until the kernel gives the connection up.
    void get_stuck(Instant now) {
        if (stuck_) return;
        stuck_ = true;
        stuck_until_ = now + std::chrono::seconds(6);
    }

    /// What was flushed, up to `most` bytes.
    std::string take_output(std::size_t most);
    [[nodiscard]] bool has_output() const { return !sent_.empty(); }
    [[nodiscard]] bool dead() const { return dead_; }
    /// A statement of a client's runs or a transaction is open.
    [[nodiscard]] bool works() const;
    /// It waits for its peer: nothing unread, nothing under way.
    [[nodiscard]] bool idle() const {
        return !dead_ && !stuck_ && !work_ && input_.empty() && held_.empty();
    }
    /// Nothing read and unanswered, nothing unread, no transaction, nothing left by a session.
    [[nodiscard]] std::string why_not_clean() const;

private:
    struct Message {
        char type;
        std::string body;
    };
    enum class Mode { reading, skipping, copying_in };
    enum class Block { none, open, failed };
    struct Work {
        std::deque<std::string> statements;
        bool simple = false;
    };

    [[nodiscard]] bool has_unread_work() const;
    std::optional<Message> next_message();
    void take(const Message& message);
    void take_in_copy(const Message& message);
    void take_extended(const Message& message);
    void parse(const std::string& body);
    void bind(const std::string& body);
    void describe(const std::string& body);
    void function_call();
    void sync();

    void start(std::deque<std::string> statements, bool simple);
    void go_on();
    bool execute(const std::string& statement, bool simple);
    bool execute_verb(const std::string& statement, bool& known);
    void end_copy();
    void fail(std::string_view sqlstate, std::string_view message);
    void end_work();
    void commit();
    void roll_back();
    void ready();
    void send(char type, std::string_view body);
    void send_error(std::string_view severity, std::string_view sqlstate, std::string_view message);
    void complete(std::string_view tag);
    void send_row(std::string_view value);
    void flush();
    bool execute_setting(const std::string& statement, bool& known);
    [[nodiscard]] const std::string& setting() const {
        return setting_pending_ ? *setting_pending_ : setting_;
    }
    void check_owner(const std::string& tag);

    Books& books_;
    Dice& dice_;
    std::string input_;
    std::string held_;
    std::string sent_;
    std::optional<Work> work_;
    std::optional<Work> parked_;  // during COPY FROM STDIN
    Instant busy_until_;
    Instant now_;
    std::map<std::string, std::string> statements_;
    std::map<std::string, std::string> portals_;
    std::vector<std::string> pending_rows_;
    std::string dirt_;
    std::string setting_;  // the tag of the SET in force
    std::optional<std::string> setting_pending_;
    std::string copy_tag_;
    Mode mode_ = Mode::reading;
    Block block_ = Block::none;
    bool implicit_ = false;  // extended messages ran since the last Sync
    bool cancel_pending_ = false;
    bool eof_ = false;
    bool dead_ = false;
    bool stuck_ = false;
    Instant stuck_until_;
};

inline constexpr std::string_view kAborted = "current transaction is aborted";

/// Whether PostgreSQL takes the text in a failed block.
bool ends_failed_block(const std::string& text);

/// The tag in a text: what stands between the last two quotes, or behind `-- `.
std::string tag_of(const std::string& text);

}  // namespace pgb::sim

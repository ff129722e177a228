#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/base/http_answer.h"
#include "proxy/base/instant.h"

namespace pgb {

/// What a permit is held for, at one moment.
enum class HolderState : std::uint8_t {
    running,              ///< A statement is under way in PostgreSQL.
    idle_in_transaction,  ///< A block is open, or a batch is not ended, and the client is silent.
    waiting_for_lock,     ///< Running, and the lock sampler has seen it wait for somebody.
    waiting_for_backend,  ///< It has its permit and no backend yet.
    locked,               ///< No transaction: an advisory lock of the session keeps the permit.
    cleaning,             ///< The client has its answer; the backend takes on or drops state.
    rolling_back,         ///< The client has gone, or the backend is of no use; its work is ended.
    orphaned,             ///< The same, and the backend does not answer.
};

inline constexpr std::array kHolderStates = {
    HolderState::running,          HolderState::idle_in_transaction,
    HolderState::waiting_for_lock, HolderState::waiting_for_backend,
    HolderState::locked,           HolderState::cleaning,
    HolderState::rolling_back,     HolderState::orphaned,
};

/// The word of a state in logs and JSON; static storage.
constexpr std::string_view to_word(HolderState state) {
    switch (state) {
        case HolderState::running: return "running";
        case HolderState::idle_in_transaction: return "idle_in_transaction";
        case HolderState::waiting_for_lock: return "waiting_for_lock";
        case HolderState::waiting_for_backend: return "waiting_for_backend";
        case HolderState::locked: return "locked";
        case HolderState::cleaning: return "cleaning";
        case HolderState::rolling_back: return "rolling_back";
        case HolderState::orphaned: return "orphaned";
    }
    return "unknown";
}

constexpr std::size_t index_of(HolderState state) { return static_cast<std::size_t>(state); }

/// Whom a holder waits for, as PostgreSQL tells it: anyone, not only a client of this proxy.
struct LockHolder {
    std::uint32_t pid = 0;  ///< 0: a prepared transaction.
    std::string state;      ///< PostgreSQL's word: active, idle in transaction and the like.
    std::string client;     ///< Its address; empty for a Unix socket.
    std::string application_name;
    std::string user;
    std::string database;
};

/// One permit that is held, and by whom.
struct Holder {
    std::string workload;
    HolderState state = HolderState::running;
    Instant granted_at;   ///< When it got its permit.
    Instant state_since;  ///< When what it does now began.
    std::string client;   ///< Address and port, or `unix`.
    std::string application_name;
    std::string database;
    std::string user;       ///< As which its backend works.
    std::uint32_t pid = 0;  ///< Of its backend; 0: it has none yet.
    /// The beginning of the statement that was sent last, with its literals: shown by nobody but
    /// mask_statement(). Empty: not known.
    std::string statement;
    bool statement_whole = true;
    std::vector<LockHolder> waits_for;
};

/// How many holders there are in a state, and how long they have been in it, all together.
struct StateShare {
    std::size_t count = 0;
    Duration time{0};
};

/// The holders at one moment, all or those of one workload; the oldest first.
struct HolderList {
    Instant made;
    std::vector<Holder> holders;
    std::size_t left_out = 0;                             ///< Younger ones that found no room.
    std::array<StateShare, kHolderStates.size()> shares;  ///< Of all, those left out included.
};

/// `GET /api/v1/holders`: JSON. Statements are masked; bytes that are not UTF-8 are replaced.
HttpAnswer answer_holders(const HolderList& list);

/// For people, one line: the oldest `count` holders, each with age, state, pid, client, application
/// and masked statement.
std::string describe_oldest(const HolderList& list, std::size_t count);
/// For whom the holders wait, each once, at most `count`; empty when for nobody.
std::string describe_lock_holders(const HolderList& list, std::size_t count);
/// Where the time goes, in percent of the time that the holders have been in their present states.
std::string describe_shares(const HolderList& list);

}  // namespace pgb

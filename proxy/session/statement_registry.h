#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proxy/base/intrusive_list.h"
#include "proxy/session/known_parses.h"
#include "proxy/session/statement_facts.h"

namespace pgb {

/// `limits` of the file that are about prepared statements.
struct StatementLimits {
    std::size_t session_max = 1000;       ///< names of one session
    std::size_t backend_max = 500;        ///< statements on one backend
    std::size_t memory_max = 64U << 20U;  ///< bytes of all statements together
};

/// Names one statement for the life of the process; 0 is none. Never given twice.
using StatementId = std::uint64_t;

/// What the rows of a statement look like: a digest of names, types and modifiers of its columns.
using RowShape = std::uint64_t;
inline constexpr RowShape kNoRows = 0;
inline constexpr RowShape kUnknownRows = 1;  ///< the server did not get to say; fits any
/// No backend was asked for this name yet: its Parse is sent ahead of what needs it.
inline constexpr RowShape kUntriedRows = 2;

/// Two Parses make the same statement when all of this is equal.
struct StatementKey {
    std::string_view text;
    /// Parameter types as in a Parse: one OID each, 4 bytes, the most significant first.
    std::string_view types;
    /// Of the settings that a plan depends on (search_path and its kin).
    std::uint64_t settings = 0;
    RowShape rows = kUnknownRows;
    /// With kUntriedRows: what was said of the Parse that it was taken for.
    std::shared_ptr<const AcceptedParse> accepted{};
};

struct UnusedStatements;

struct SharedStatement : ListHook<UnusedStatements> {
    StatementId id = 0;
    std::string text;
    std::string types;
    std::uint64_t settings = 0;
    RowShape rows = kUnknownRows;
    std::shared_ptr<const AcceptedParse> accepted;
    StatementFacts facts;
    std::size_t users = 0;
};

/// The prepared statements of all sessions, each text kept once. The proxy needs the text when a
/// backend that lacks the statement is to run it.
///
///   R1  a statement that a session uses stays where it is, whatever the bound says.
///   R2  one that no session uses stays as long as there is room, oldest out first: a client that
///       comes back finds the backends prepared.
///   R3  an id is never given twice, so what a backend knows of a statement that has gone is
///       harmless.
class StatementRegistry {
public:
    explicit StatementRegistry(const StatementLimits& limits = {}) : limits_(limits) {}
    ~StatementRegistry();
    StatementRegistry(const StatementRegistry&) = delete;
    StatementRegistry& operator=(const StatementRegistry&) = delete;

    /// Whether a statement of this size fits beside those in use.
    [[nodiscard]] bool has_room(std::size_t size) const;
    /// The statement, with one more user. It stays valid until that user calls release().
    const SharedStatement& intern(const StatementKey& key, const StatementFacts& facts);
    void release(const SharedStatement& statement);

    /// A number for an unnamed statement, to be told from all others; never 0.
    [[nodiscard]] std::uint64_t fresh_token() { return ++last_token_; }
    [[nodiscard]] KnownParses& known_parses() { return known_parses_; }
    [[nodiscard]] const StatementLimits& limits() const { return limits_; }
    [[nodiscard]] std::size_t size() const { return statements_.size(); }
    [[nodiscard]] std::size_t memory() const { return used_memory_ + unused_memory_; }

    /// Statements that the proxy itself made on a backend, and those it closed there for room.
    void count_prepared() { ++prepared_count_; }
    void count_evicted(std::size_t count) { evicted_count_ += count; }
    [[nodiscard]] std::uint64_t prepared_count() const { return prepared_count_; }
    [[nodiscard]] std::uint64_t evicted_count() const { return evicted_count_; }

private:
    static StatementKey key_of(const SharedStatement& statement);
    static std::size_t cost(const SharedStatement& statement);
    SharedStatement* find(std::size_t hash, const StatementKey& key);
    void make_room();

    StatementLimits limits_;
    KnownParses known_parses_;
    std::unordered_multimap<std::size_t, SharedStatement> statements_;  // by digest of the key
    IntrusiveList<SharedStatement, UnusedStatements> unused_;           // oldest first
    std::size_t used_memory_ = 0;
    std::size_t unused_memory_ = 0;
    StatementId last_id_ = 0;
    std::uint64_t last_token_ = 0;
    std::uint64_t prepared_count_ = 0;
    std::uint64_t evicted_count_ = 0;
};

}  // namespace pgb

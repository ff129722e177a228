#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pgb {

/// The number of a workload, in the order in which the pool was given them, from 0. Equal to the
/// number of its lane in the gate, which this library does not include.
using WorkloadIndex = std::uint16_t;

/// Backends of one group are interchangeable: same database, user and startup parameters. The
/// number is used again after the group was forgotten (PoolActionKind::forget).
enum class GroupId : std::uint32_t {};

/// One backend for as long as it has its place. The slot (below P) is used again with the next
/// generation, so that an id which outlived its backend is noticed. Generation 0 names nothing.
struct BackendId {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;

    bool operator==(const BackendId&) const = default;
};

///   (free) --connect--> connecting --on_connected--> idle <--give_back-- lent <--take-- pinned
///                            |                      | |  `----lend----> |  `--keep-->     |
///                      on_connect_failed            | |                 |                 |
///                            |        close, on_closing `-- on_closing -+- on_orphaned ---+
///                            v                      v                            v
///                         (free) <--on_gone----- closing --on_orphaned-----> orphaned
///
/// on_gone frees the place from every state but connecting. Every state but (free) counts in P.
enum class BackendState : std::uint8_t {
    connecting,  ///< The driver opens it; no session has anything to do with it yet.
    idle,        ///< Clean, owes nothing, belongs to nobody.
    lent,        ///< A session's transaction runs on it or it is being cleaned.
    pinned,      ///< A session keeps it between two transactions; it has no permit.
    closing,     ///< The goodbye was sent and its end not seen: PostgreSQL may still have it.
    orphaned,    ///< It did not answer; nobody knows whether PostgreSQL still has it.
};

inline constexpr std::size_t kBackendStateCount = 6;

/// The metric label and console word of each state, in the order of the enum.
inline constexpr std::array<std::string_view, kBackendStateCount> kBackendStateWords{
    "connecting", "idle", "lent", "pinned", "closing", "orphaned"};

constexpr std::size_t index_of(BackendState state) { return static_cast<std::size_t>(state); }

/// How many backends are in which state.
class BackendCounts {
public:
    [[nodiscard]] std::uint32_t of(BackendState state) const { return counts_[index_of(state)]; }
    [[nodiscard]] std::uint32_t all() const {
        std::uint32_t sum = 0;
        for (const std::uint32_t count : counts_) sum += count;
        return sum;
    }
    void add(BackendState state) { ++counts_[index_of(state)]; }
    void take_off(BackendState state) { --counts_[index_of(state)]; }

private:
    std::array<std::uint32_t, kBackendStateCount> counts_{};
};

}  // namespace pgb

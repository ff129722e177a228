#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pgb {

/// Why a transaction was refused. The one spelling of a reason: enumerator = metric label = log
/// word = console text = HINT.
enum class ShedReason : std::uint8_t {
    queue_full,     ///< Every permit and every queue place of the lane was taken.
    queue_timeout,  ///< No permit came within `queue_wait`, or `queue_wait` is 0 and none was free.
    deadline,       ///< The client's own deadline would pass, or passed, before a permit came.
    pool_timeout,   ///< A permit was held, and no backend came within `pool_wait`.
    draining,       ///< The proxy takes no new transactions: it is about to end.
    backend_down,   ///< PostgreSQL cannot be reached; nothing of the transaction was sent.
    backend_lost,   ///< The backend went away inside a block before anything that could end it.
    pin_limit,      ///< The session needs a backend of its own, and `max_pinned` are pinned.
};

inline constexpr std::array kShedReasons = {
    ShedReason::queue_full,   ShedReason::queue_timeout, ShedReason::deadline,
    ShedReason::pool_timeout, ShedReason::draining,      ShedReason::backend_down,
    ShedReason::backend_lost, ShedReason::pin_limit,
};

/// The reason's word; static storage.
constexpr std::string_view to_word(ShedReason reason) {
    switch (reason) {
        case ShedReason::queue_full: return "queue_full";
        case ShedReason::queue_timeout: return "queue_timeout";
        case ShedReason::deadline: return "deadline";
        case ShedReason::pool_timeout: return "pool_timeout";
        case ShedReason::draining: return "draining";
        case ShedReason::backend_down: return "backend_down";
        case ShedReason::backend_lost: return "backend_lost";
        case ShedReason::pin_limit: return "pin_limit";
    }
    return "unknown";
}

constexpr std::size_t index_of(ShedReason reason) { return static_cast<std::size_t>(reason); }

}  // namespace pgb

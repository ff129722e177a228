#pragma once

#include <cstdint>
#include <string_view>

namespace pgb {

/// Where a session stands between its frontend, the gate and a backend.
///
///                 message that needs a backend
///        idle ------------------------------------> queued --refused, cancelled--> idle
///         ^ ^                                         |
///         | |                                         | permit
///         | '--refused (pool_timeout, backend_down)-- waiting_backend
///         | |                                         | backend
///         | |              other settings in force    v
///         | '--settings failed-- preparing <----------+
///         |                        '------confirmed-->|
///         |                      BEGIN was virtual    v    no block
///         |                     starting <------------+------------> active
///         |                        |  '--BEGIN confirmed--------------^  |
///         |                        | BEGIN failed                        | ReadyForQuery I,
///         |                        v                                     | nothing owed
///         '--backend clean--- settling <---------------------------------'
///
///   frontend gone:  idle, queued, waiting_backend -> closed
///                   preparing, starting, active, settling
///                                -> winding_up --backend clean or gone--> closed
///   backend lost:   preparing, starting, active, settling
///                                -> idle (the block failed or has ended)
///
/// The virtual block (virtual_block.h) is a second dimension of idle, queued and waiting_backend
/// alone. A pinned session keeps its backend in idle.
/// What decides about the workload of a session's transactions, each with what is above it.
enum class ClassedBy : std::uint8_t {
    login,  ///< There is no choice.
    names,  ///< A setting may name one: a question for a permit or a pin says what it is about.
    texts,  ///< So may each statement: prepared ones and those in a pipeline are told, too.
};

enum class SessionState : std::uint8_t {
    idle,             ///< No permit. Local answers only.
    queued,           ///< Asked for a permit; input waits.
    waiting_backend,  ///< Permit held, asked for a backend; input waits.
    preparing,        ///< The backend takes on this session's settings; nothing else was sent.
    starting,         ///< The proxy's BEGIN and the first unit of work were sent.
    active,           ///< Messages are forwarded both ways.
    settling,         ///< The frontend has its answer; the backend is being cleaned; input waits.
    winding_up,       ///< The frontend has gone; the backend's work is being ended.
    closed,           ///< Nothing is held and nothing will be done.
};

/// How a frontend left.
enum class Leaving : std::uint8_t {
    goodbye,  ///< Terminate or end of stream: what was wholly received still runs.
    reset,    ///< The connection broke, or the proxy ended it: work is cancelled at once.
};

/// Why a session keeps its backend: a set of these bits.
using PinReasons = std::uint8_t;
inline constexpr PinReasons kPinNamedStatement = 1;
inline constexpr PinReasons kPinSessionState = 2;
/// An unnamed statement was parsed and not bound: the next batch may bind it.
inline constexpr PinReasons kPinUnnamedStatement = 4;
/// A session-level advisory lock may be held: the permit stays held, too.
inline constexpr PinReasons kPinLock = 8;
inline constexpr PinReasons kPinListen = 16;
/// Settings were changed in a way that can't be repeated on another backend.
inline constexpr PinReasons kPinSettings = 32;
/// `pooling: session`: the backend is the session's from its login to its end (resident.cpp). The
/// pool counts it as a resident and not as a pin.
inline constexpr PinReasons kPinResident = 128;

}  // namespace pgb

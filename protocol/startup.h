#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pgb {

/// The first packets of a connection have no type byte (manual, "Message Formats": CancelRequest,
/// GSSENCRequest, SSLRequest, StartupMessage). Everything here is what an unauthenticated peer
/// may send, so all lengths are judged as soon as their four bytes are there.

/// PostgreSQL's MAX_STARTUP_PACKET_LENGTH: of what follows the length word.
inline constexpr std::size_t kStartupBodyMax = 10000;
/// More parameters than any driver sends; bounds what a peer can make us keep before it has
/// logged in.
inline constexpr std::size_t kStartupParameterMax = 512;
/// Bounds of a cancel key since protocol 3.2; 3.0 has always 4 bytes.
inline constexpr std::size_t kCancelKeyMin = 4;
inline constexpr std::size_t kCancelKeyMax = 256;

inline constexpr std::uint16_t kProtocolMajor = 3;
/// Newest minor version we speak: 3.2, PostgreSQL 18's. It differs from 3.0 in that
/// BackendKeyData and CancelRequest may carry longer keys.
inline constexpr std::uint16_t kProtocolMinorMax = 2;

enum class StartupKind : std::uint8_t {
    need_more,       ///< call again with the same bytes and more behind them
    malformed,       ///< see `fault`
    ssl_request,     ///< may come once; a second one is an unsupported protocol version
    gssenc_request,  ///< the same
    cancel_request,  ///< see `cancel`; nothing is ever answered to it
    startup,         ///< see `major`, `minor`, `parameters`, `protocol_options`
};

enum class StartupFault : std::uint8_t {
    none,
    length,              ///< impossible length of packet or cancel key: closed without an answer
    layout,              ///< FATAL 08P01, expected terminator as last byte
    unsupported_major,   ///< FATAL 0A000
    too_many_parameters  ///< FATAL 08P01; ours, PostgreSQL has no such limit
};

/// Views point into the input.
struct CancelRequest {
    std::int32_t pid = 0;
    std::string_view key;
};

using StartupParameter = std::pair<std::string_view, std::string_view>;

/// What was found at the front of the input. Views point into the input.
struct StartupPacket {
    StartupKind kind = StartupKind::need_more;
    StartupFault fault = StartupFault::none;
    /// Bytes used up, for every kind but need_more and malformed.
    std::size_t consumed = 0;
    std::uint16_t major = 0;  ///< of a startup, SSL or GSSENC packet and of unsupported_major
    std::uint16_t minor = 0;
    CancelRequest cancel;
    /// In the order sent, duplicates kept (of which PostgreSQL takes the last), without the
    /// `_pq_.` ones. No check for `user`: that complaint comes after the negotiation.
    std::vector<StartupParameter> parameters;
    /// Names of requested protocol options, `_pq_.` included. None is known to PostgreSQL or us.
    std::vector<std::string_view> protocol_options;

    /// The last value of a parameter; empty when it was not sent.
    [[nodiscard]] std::string_view parameter(std::string_view name) const;
};

/// Looks at the front of what a connection has sent so far. Asks for more only while the packet
/// can still become a legal one of at most kStartupBodyMax + 4 bytes.
[[nodiscard]] StartupPacket parse_startup(std::string_view input);

/// Appends the FATAL that PostgreSQL answers to a malformed packet; nothing for `length`.
void append_startup_fault(std::string& out, const StartupPacket& packet);

/// FATAL 0A000 "unsupported frontend protocol 4.0: server supports 3.0 to 3.2", to a major version
/// below 3 in the form that protocol 2 had for errors. Also the answer to a second SSLRequest
/// (1234.5679) or GSSENCRequest (1234.5680).
void append_unsupported_protocol(std::string& out, std::uint16_t major, std::uint16_t minor);

/// The minor version a session speaks when `requested` was asked for, as PostgreSQL 18 decides
/// it: the smaller of the two. 3.1, which no release ever defined, is accepted without a word and
/// is 3.0 in all but its number.
[[nodiscard]] constexpr std::uint16_t negotiated_minor(std::uint16_t requested) {
    return requested < kProtocolMinorMax ? requested : kProtocolMinorMax;
}

/// Whether the startup packet must be answered by NegotiateProtocolVersion, once and before
/// anything else: a newer minor version or a protocol option that is not known was asked for.
[[nodiscard]] bool needs_negotiation(const StartupPacket& packet);

/// NegotiateProtocolVersion. The manual calls its first field the newest minor version; what
/// PostgreSQL sends and libpq expects there is the whole version, 3 << 16 | minor.
void append_negotiate_protocol_version(std::string& out, std::uint16_t minor,
                                       std::span<const std::string_view> unknown_options);

void append_authentication_ok(std::string& out);
/// `key` is 4 bytes below protocol 3.2, else kCancelKeyMin to kCancelKeyMax.
void append_backend_key_data(std::string& out, std::int32_t pid, std::string_view key);
void append_parameter_status(std::string& out, std::string_view name, std::string_view value);

/// A CancelRequest of our own.
void append_cancel_request(std::string& out, std::int32_t pid, std::string_view key);

using Setting = std::pair<std::string, std::string>;

/// The settings in the startup parameter `options`, in order, split and unescaped as PostgreSQL's
/// pg_split_opts() and process_postgres_switches() do: `-c a=b`, `-ca=b`, `--a=b`; a backslash
/// takes the next byte as it is; in names '-' becomes '_'. Nothing when there is any other switch
/// or word, or a switch without its value: only the server can say what that is.
[[nodiscard]] std::optional<std::vector<Setting>> parse_options(std::string_view options);

}  // namespace pgb

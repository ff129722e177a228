#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

struct pg_conn;

namespace pgb {

/// What a server has said during a login and libpq has not read yet.
enum class LoginBytes : std::uint8_t {
    fine,        ///< libpq may read it
    incomplete,  ///< a message is not all there: to be looked at again when more has come
    too_dear,    ///< it asks for more rounds of hashing than any honest server does
};

/// libpq counts to whatever number of rounds a server names in its SCRAM message, without a break:
/// 2,000,000,000 of them would hold up the thread that opens all backends for the better part of
/// an hour. PostgreSQL's default is 4096.
inline constexpr std::uint64_t kScramRoundsMax = 1'000'000;
/// Of a message during a login; libpq itself takes no longer one.
inline constexpr std::size_t kLoginMessageMax = std::size_t{64} << 10;

/// Pure. `bytes` begin with a message.
[[nodiscard]] LoginBytes judge_login_bytes(std::string_view bytes);

/// Looks at what has come without taking it. libpq must be handed whole messages only, or what is
/// looked at would not begin with one: without TLS nothing is read before it is complete. Within TLS
/// a look sees one record at most, and lets pass what goes beyond it; there the certificate says
/// who the server is.
[[nodiscard]] LoginBytes look_at_login(pg_conn* connection);

}  // namespace pgb

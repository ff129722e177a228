#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pgb {

/// What SHA-256 and HMAC-SHA-256 yield.
inline constexpr std::size_t kScramKeySize = 32;
using ScramKey = std::array<unsigned char, kScramKeySize>;

/// PostgreSQL's own, for passwords that it is given in the clear.
inline constexpr std::uint32_t kScramIterations = 4096;
inline constexpr std::size_t kScramSaltSize = 16;

/// What a server keeps of a password for SCRAM-SHA-256 (RFC 5802, section 3; RFC 7677). It proves
/// that a client knows the password, and can't be used to log in elsewhere.
struct ScramVerifier {
    std::uint32_t iterations = 0;
    std::string salt;  ///< bytes
    ScramKey stored_key{};
    ScramKey server_key{};
    bool operator==(const ScramVerifier&) const = default;
};

/// Whether a text is meant to be a verifier rather than a password.
[[nodiscard]] bool is_scram_verifier(std::string_view text);
/// Reads `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>` as in pg_authid.
[[nodiscard]] std::optional<ScramVerifier> parse_scram_verifier(std::string_view text);
[[nodiscard]] std::string format_scram_verifier(const ScramVerifier& verifier);

/// Of a password, which is prepared first (sasl_prep.h). Milliseconds of work for thousands of
/// iterations: never on an event loop. At least one iteration.
[[nodiscard]] ScramVerifier derive_scram_verifier(std::string_view password, std::string_view salt,
                                                  std::uint32_t iterations);

/// Stands in for one of a user that there is not: the same for the same name and secret, unlike any
/// other, and of a password that nobody knows.
[[nodiscard]] ScramVerifier mock_scram_verifier(std::string_view secret, std::string_view user);

[[nodiscard]] ScramKey hmac_sha256(std::string_view key, std::string_view text);
[[nodiscard]] ScramKey sha256(std::string_view text);
[[nodiscard]] inline std::string_view bytes_of(const ScramKey& key) {
    return {reinterpret_cast<const char*>(key.data()), key.size()};
}
/// Takes the same time wherever the two differ; their lengths are no secret.
[[nodiscard]] bool is_same_secret(std::string_view one, std::string_view other);

}  // namespace pgb

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/scram_verifier.h"
#include "proxy/session/quoted_pairs.h"

namespace pgb {

/// One user who may log in. The views point into the text that was parsed.
struct UserEntry {
    std::string_view name;
    std::string_view password;              ///< Empty: there is a verifier only, or nothing.
    std::optional<ScramVerifier> verifier;  ///< As the file has it.
    std::uint32_t line = 0;
};

struct UsersText {
    std::vector<UserEntry> entries;
    std::vector<LineFault> faults;
};

/// More than anybody writes by hand or a secret volume holds.
inline constexpr std::size_t kUsersMax = 100'000;
inline constexpr std::size_t kUsersFileMax = std::size_t{16} << 20;

/// Reads a users file, which is PgBouncer's userlist: on each line
///
///     "name" "password or SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey"
///
/// A quote inside is doubled; empty lines and those that begin with `;` or `#` are skipped. An empty
/// password is none, as in PostgreSQL: nobody logs in with it. MD5 hashes are not taken. All faults
/// are reported at once, and the entries are of use only if there are none.
///
/// Works in place: doubled quotes become single ones in `text`, which must outlive the result.
[[nodiscard]] UsersText parse_users(std::span<char> text);

}  // namespace pgb

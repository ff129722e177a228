#pragma once

#include <string>
#include <string_view>

namespace pgb {

/// The form of a password that SCRAM hashes (SASLprep, RFC 4013), as PostgreSQL takes it: ASCII as it
/// stands; what is UTF-8 and allowed, prepared; anything else, byte for byte as it stands, since the
/// password may be in an encoding that nobody here knows.
///
/// Characters are those of Unicode 3.2, as the RFC says. PostgreSQL decomposes by a newer table: it
/// prepares a password of a later character that decomposes into older ones, which is taken as it
/// stands here.
[[nodiscard]] std::string prepare_password(std::string_view password);

}  // namespace pgb

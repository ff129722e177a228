#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pgb {

/// The client's proof, in base64, for the messages of both sides (RFC 5802, section 3).
[[nodiscard]] std::string prove_scram(std::string_view password, std::string_view salt,
                                      std::uint32_t iterations, std::string_view auth_message);

}  // namespace pgb

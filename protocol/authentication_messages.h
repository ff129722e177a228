#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pgb {

/// AuthenticationCleartextPassword.
void append_authentication_cleartext(std::string& out);

/// AuthenticationSASL: the mechanisms that the client may choose from, the one liked best first.
void append_authentication_sasl(std::string& out,
                                std::initializer_list<std::string_view> mechanisms);

enum class SaslData : std::uint8_t {
    challenge,  ///< AuthenticationSASLContinue
    final,      ///< AuthenticationSASLFinal
};
void append_authentication_sasl_data(std::string& out, SaslData kind, std::string_view data);

}  // namespace pgb

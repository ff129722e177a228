#include "tests/support/scram_client.h"

#include <openssl/evp.h>

#include "protocol/base64.h"
#include "protocol/scram_verifier.h"

namespace pgb {

std::string prove_scram(std::string_view password, std::string_view salt, std::uint32_t iterations,
                        std::string_view auth_message) {
    ScramKey salted{};
    PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()),
                      reinterpret_cast<const unsigned char*>(salt.data()),
                      static_cast<int>(salt.size()), static_cast<int>(iterations), EVP_sha256(),
                      static_cast<int>(salted.size()), salted.data());
    const ScramKey client_key = hmac_sha256(bytes_of(salted), "Client Key");
    ScramKey proof = hmac_sha256(bytes_of(sha256(bytes_of(client_key))), auth_message);
    for (std::size_t i = 0; i < proof.size(); ++i) proof[i] ^= client_key[i];
    return encode_base64(bytes_of(proof));
}

}  // namespace pgb

#include "protocol/scram_verifier.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <charconv>
#include <climits>

#include "protocol/base64.h"
#include "protocol/sasl_prep.h"

namespace pgb {

namespace {

constexpr std::string_view kScheme = "SCRAM-SHA-256$";

const unsigned char* unsigned_bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

std::optional<ScramKey> decode_key(std::string_view text) {
    const std::optional<std::string> bytes = decode_base64(text);
    if (!bytes || bytes->size() != kScramKeySize) return std::nullopt;
    ScramKey key{};
    std::copy(bytes->begin(), bytes->end(), key.begin());
    return key;
}

/// Takes what stands before the separator off the front; all of it when there is none.
std::string_view take_until(std::string_view& rest, char separator) {
    const std::string_view part = rest.substr(0, rest.find(separator));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
}

std::optional<std::uint32_t> parse_iterations(std::string_view text) {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    const bool is_number = error == std::errc{} && at == end;
    return is_number && value > 0 && value <= INT_MAX ? std::optional(value) : std::nullopt;
}

ScramKey salted_password(std::string_view password, std::string_view salt,
                         std::uint32_t iterations) {
    std::string prepared = prepare_password(password);
    ScramKey salted{};
    PKCS5_PBKDF2_HMAC(prepared.data(), static_cast<int>(prepared.size()), unsigned_bytes(salt),
                      static_cast<int>(salt.size()), static_cast<int>(iterations), EVP_sha256(),
                      static_cast<int>(salted.size()), salted.data());
    OPENSSL_cleanse(prepared.data(), prepared.size());
    return salted;
}

}  // namespace

bool is_scram_verifier(std::string_view text) { return text.starts_with(kScheme); }

std::optional<ScramVerifier> parse_scram_verifier(std::string_view text) {
    if (!is_scram_verifier(text)) return std::nullopt;
    text.remove_prefix(kScheme.size());
    const auto iterations = parse_iterations(take_until(text, ':'));
    const auto salt = decode_base64(take_until(text, '$'));
    const auto stored_key = decode_key(take_until(text, ':'));
    const auto server_key = decode_key(text);
    if (!iterations || !salt || salt->empty() || !stored_key || !server_key) return std::nullopt;
    return ScramVerifier{*iterations, *salt, *stored_key, *server_key};
}

std::string format_scram_verifier(const ScramVerifier& verifier) {
    return std::string(kScheme) + std::to_string(verifier.iterations) + ':' +
           encode_base64(verifier.salt) + '$' + encode_base64(bytes_of(verifier.stored_key)) + ':' +
           encode_base64(bytes_of(verifier.server_key));
}

ScramVerifier derive_scram_verifier(std::string_view password, std::string_view salt,
                                    std::uint32_t iterations) {
    ScramKey salted = salted_password(password, salt, iterations);
    ScramKey client_key = hmac_sha256(bytes_of(salted), "Client Key");
    ScramVerifier verifier{iterations, std::string(salt), sha256(bytes_of(client_key)),
                           hmac_sha256(bytes_of(salted), "Server Key")};
    OPENSSL_cleanse(salted.data(), salted.size());
    OPENSSL_cleanse(client_key.data(), client_key.size());
    return verifier;
}

ScramVerifier mock_scram_verifier(std::string_view secret, std::string_view user) {
    const auto part = [&](char purpose) {
        return hmac_sha256(secret, std::string(1, purpose).append(user));
    };
    const ScramKey salt = part('s');
    return {kScramIterations, std::string(bytes_of(salt).substr(0, kScramSaltSize)), part('c'),
            part('k')};
}

ScramKey hmac_sha256(std::string_view key, std::string_view text) {
    ScramKey result{};
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), unsigned_bytes(text), text.size(),
         result.data(), &size);
    return result;
}

ScramKey sha256(std::string_view text) {
    ScramKey result{};
    SHA256(unsigned_bytes(text), text.size(), result.data());
    return result;
}

bool is_same_secret(std::string_view one, std::string_view other) {
    return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace pgb

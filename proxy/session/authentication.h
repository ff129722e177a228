#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/scram.h"
#include "proxy/base/secret.h"

namespace pgb {

/// How a client is asked who it is.
enum class AuthenticationKind : std::uint8_t {
    scram,     ///< SCRAM-SHA-256 against a verifier
    password,  ///< a password in the clear, proved elsewhere
};

/// What comes next. The bytes in `reply` are sent first in every case.
enum class AuthenticationStep : std::uint8_t {
    need_more,  ///< Keep what was not consumed and call again with more.
    verifier,   ///< Call on_verifier() with the user's, or one that stands in for it.
    prove,      ///< password() is to be proved; then the connection is the caller's.
    accepted,   ///< The client is who it says.
    refused,    ///< `reply` is the last word (it may be empty): close.
};

/// The messages between the startup packet and AuthenticationOk (manual, "Start-up" and "SASL
/// Authentication"), with PostgreSQL's limits and its words:
///
///   begin() -> scram:    AuthenticationSASL -> mechanism chosen, client-first -> VERIFIER
///                        -> server-first -> client-final -> ACCEPTED with server-final, or REFUSED
///              password: AuthenticationCleartextPassword -> PasswordMessage -> PROVE
///
/// A user that there is not, or that has no password, is doomed: it goes through the whole exchange
/// with a verifier that stands in, and is refused as for a wrong password. Pure.
class Authentication {
public:
    /// `end_point`: of the TLS connection, see ScramBinding. `nonce`: 18 random bytes.
    Authentication(AuthenticationKind kind, std::string user, std::string end_point,
                   std::string_view nonce);

    void begin(std::string& reply) const;
    /// Takes one message from the front of `input` at most; `consumed` is how many bytes it had.
    /// Not while a verifier or a proof is waited for.
    AuthenticationStep on_bytes(std::string_view input, std::size_t& consumed, std::string& reply);
    /// After `verifier`; more is needed then.
    void on_verifier(const ScramVerifier& verifier, bool is_doomed, std::string& reply);
    /// After `prove`; wiped with this.
    [[nodiscard]] const Secret& password() const { return password_; }

private:
    AuthenticationStep on_message(std::string_view body, std::string& reply);
    AuthenticationStep on_sasl_initial(std::string_view body, std::string& reply);
    AuthenticationStep on_client_first(std::string_view message, std::string& reply);
    AuthenticationStep on_client_final(std::string_view message, std::string& reply);
    AuthenticationStep on_password(std::string_view body, std::string& reply);
    AuthenticationStep fail(std::string& reply, const ScramFault& fault) const;
    [[nodiscard]] std::size_t length_max() const;

    /// Which message is awaited.
    enum class Awaited : std::uint8_t { password, sasl_initial, client_first, client_final };

    std::string user_;
    std::string end_point_;
    std::string nonce_;
    Secret password_;
    std::optional<ScramExchange> exchange_;
    ScramVerifier verifier_;
    Awaited awaited_;
    bool is_doomed_ = false;
};

/// Appends FATAL 28P01 `password authentication failed for user "x"`.
void append_password_failure(std::string& out, std::string_view user);
/// The same of another method: FATAL 28000 `Peer authentication failed for user "x"`.
void append_method_failure(std::string& out, std::string_view method, std::string_view user);

}  // namespace pgb

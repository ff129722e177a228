#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pgb {

/// Who logged in and with what, owned.
struct LoginRequest {
    std::string user;
    std::string database;  ///< the user's name when the client named none, as in PostgreSQL
    std::string application_name;
    /// Every other parameter that PostgreSQL must know, the last value of each name, sorted by name.
    std::vector<std::pair<std::string, std::string>> parameters;
    std::uint16_t protocol_minor = 0;
};

/// What one step of a login found. The bytes in `reply` come first in every case.
enum class LoginStep : std::uint8_t {
    need_more,  ///< Keep what was not consumed and call again with more.
    tls,        ///< What comes next, or was not consumed, is a TLS handshake; then call again.
    startup,    ///< request() is complete.
    cancel,     ///< cancel_pid() and cancel_key() are set; nothing is ever answered.
    refused,    ///< `reply` is the last word (it may be empty): close.
};

/// The messages before authentication: SSLRequest (answered `S` once where TLS is offered, else `N`)
/// and GSSENCRequest (`N`, once), CancelRequest, the startup packet with its negotiation; where TLS is
/// offered also a client that begins with it unasked, as PostgreSQL 17 has it. Pure.
class Login {
public:
    explicit Login(bool offers_tls = false) : offers_tls_(offers_tls) {}

    /// Takes packets from the front of `input`; `consumed` is set to how many bytes were used.
    /// Replies are appended to `reply`.
    LoginStep on_bytes(std::string_view input, std::size_t& consumed, std::string& reply);

    /// After the handshake: false, with nothing to be said, if the client began with it unasked and
    /// did not name the protocol by ALPN. It might want to speak another.
    [[nodiscard]] bool may_go_on(bool has_alpn) const { return ssl_seen_ || has_alpn; }

    [[nodiscard]] const LoginRequest& request() const { return request_; }
    [[nodiscard]] std::int32_t cancel_pid() const { return cancel_pid_; }
    [[nodiscard]] const std::string& cancel_key() const { return cancel_key_; }

private:
    LoginStep on_encryption_request(std::uint16_t minor, bool& seen, std::string_view behind,
                                    std::string& reply);
    LoginStep refuse(std::string& reply, std::string_view sqlstate, std::string_view message);

    LoginRequest request_;
    std::string cancel_key_;
    std::int32_t cancel_pid_ = 0;
    bool offers_tls_;
    bool ssl_seen_ = false;
    bool gssenc_seen_ = false;
    bool heard_ = false;  // a whole packet, or TLS
};

/// Appends FATAL with this code and text: the last word of a connection that never was a session.
void append_fatal(std::string& out, std::string_view sqlstate, std::string_view message,
                  std::string_view detail = {}, std::string_view hint = {});

/// Appends AuthenticationOk, the backend's parameters, BackendKeyData and ReadyForQuery.
void append_greeting(std::string& out,
                     const std::vector<std::pair<std::string, std::string>>& parameters,
                     std::int32_t pid, std::string_view key);

}  // namespace pgb

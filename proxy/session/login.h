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
    startup,    ///< request() is complete.
    cancel,     ///< cancel_pid() and cancel_key() are set; nothing is ever answered.
    refused,    ///< `reply` is the last word (it may be empty): close.
};

/// The messages before authentication: SSLRequest and GSSENCRequest (each answered `N` once),
/// CancelRequest, the startup packet with its negotiation. Pure.
class Login {
public:
    /// Takes packets from the front of `input`; `consumed` is set to how many bytes were used.
    /// Replies are appended to `reply`.
    LoginStep on_bytes(std::string_view input, std::size_t& consumed, std::string& reply);

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
    bool ssl_seen_ = false;
    bool gssenc_seen_ = false;
};

/// Appends FATAL with this code and text: the last word of a connection that never was a session.
void append_fatal(std::string& out, std::string_view sqlstate, std::string_view message,
                  std::string_view detail = {}, std::string_view hint = {});

/// Appends AuthenticationOk, the backend's parameters, BackendKeyData and ReadyForQuery.
void append_greeting(std::string& out,
                     const std::vector<std::pair<std::string, std::string>>& parameters,
                     std::int32_t pid, std::string_view key);

}  // namespace pgb

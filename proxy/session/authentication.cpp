#include "proxy/session/authentication.h"

#include <algorithm>
#include <utility>

#include "protocol/authentication_messages.h"
#include "protocol/base64.h"
#include "protocol/cursor.h"
#include "protocol/sqlstate.h"
#include "proxy/session/login.h"

namespace pgb {

namespace {

// PostgreSQL's PG_MAX_SASL_MESSAGE_LENGTH and PG_MAX_AUTH_TOKEN_LENGTH, the length word included.
constexpr std::size_t kSaslMessageMax = 1024;
constexpr std::size_t kPasswordMessageMax = 65535;
constexpr std::size_t kLengthSize = 4;
constexpr char kPasswordType = 'p';

ScramFault violation(std::string message) {
    return {sqlstate::kProtocolViolation, std::move(message), ""};
}

}  // namespace

Authentication::Authentication(AuthenticationKind kind, std::string user, std::string end_point,
                               std::string_view nonce)
    : user_(std::move(user)),
      end_point_(std::move(end_point)),
      nonce_(encode_base64(nonce)),
      awaited_(kind == AuthenticationKind::scram ? Awaited::sasl_initial : Awaited::password) {}

void Authentication::begin(std::string& reply) const {
    if (awaited_ == Awaited::password) {
        append_authentication_cleartext(reply);
    } else if (end_point_.empty()) {
        append_authentication_sasl(reply, {kScramMechanism});
    } else {
        append_authentication_sasl(reply, {kScramPlusMechanism, kScramMechanism});
    }
}

AuthenticationStep Authentication::fail(std::string& reply, const ScramFault& fault) const {
    append_fatal(reply, fault.sqlstate, fault.message, fault.detail);
    return AuthenticationStep::refused;
}

std::size_t Authentication::length_max() const {
    return awaited_ == Awaited::password ? kPasswordMessageMax : kSaslMessageMax;
}

AuthenticationStep Authentication::on_bytes(std::string_view input, std::size_t& consumed,
                                            std::string& reply) {
    consumed = 0;
    if (input.empty()) return AuthenticationStep::need_more;
    if (input.front() != kPasswordType) {
        const auto type = std::to_string(static_cast<unsigned char>(input.front()));
        return fail(reply, violation((awaited_ == Awaited::password
                                          ? "expected password response, got message type "
                                          : "expected SASL response, got message type ") +
                                     type));
    }
    if (input.size() < 1 + kLengthSize) return AuthenticationStep::need_more;
    const std::size_t length = Cursor(input.substr(1)).u32();
    if (length < kLengthSize || length > length_max()) {
        // As PostgreSQL: for a password this is the end without a word, for SASL a failed login.
        if (awaited_ != Awaited::password) append_password_failure(reply, user_);
        return AuthenticationStep::refused;
    }
    if (input.size() < 1 + length) return AuthenticationStep::need_more;
    consumed = 1 + length;
    return on_message(input.substr(1 + kLengthSize, length - kLengthSize), reply);
}

AuthenticationStep Authentication::on_message(std::string_view body, std::string& reply) {
    switch (awaited_) {
        case Awaited::password: return on_password(body, reply);
        case Awaited::sasl_initial: return on_sasl_initial(body, reply);
        case Awaited::client_first: return on_client_first(body, reply);
        case Awaited::client_final: return on_client_final(body, reply);
    }
    return AuthenticationStep::refused;
}

AuthenticationStep Authentication::on_password(std::string_view body, std::string& reply) {
    if (body.empty() || body.find('\0') != body.size() - 1) {
        return fail(reply, violation("invalid password packet size"));
    }
    if (body.size() == 1) {
        return fail(reply, {sqlstate::kInvalidPassword, "empty password returned by client", ""});
    }
    password_ = Secret(body.substr(0, body.size() - 1));
    return AuthenticationStep::prove;
}

AuthenticationStep Authentication::on_sasl_initial(std::string_view body, std::string& reply) {
    Cursor cursor(body);
    const std::string_view mechanism = cursor.cstring();
    if (cursor.failed()) return fail(reply, violation("invalid string in message"));
    const bool is_plus = mechanism == kScramPlusMechanism && !end_point_.empty();
    if (!is_plus && mechanism != kScramMechanism) {
        return fail(reply, violation("client selected an invalid SASL authentication mechanism"));
    }
    exchange_.emplace(ScramBinding{end_point_, is_plus});
    const std::int32_t length = cursor.i32();
    // -1: there is no response yet.
    const bool is_there = cursor.failed() || length != -1;
    std::string_view first;
    if (is_there && length >= 0) first = cursor.bytes(static_cast<std::size_t>(length));
    if (cursor.failed() || (is_there && length < 0)) {
        return fail(reply, violation("insufficient data left in message"));
    }
    if (!cursor.at_end()) return fail(reply, violation("invalid message format"));
    if (!is_there) {
        // The client is asked for it by an empty challenge.
        awaited_ = Awaited::client_first;
        append_authentication_sasl_data(reply, SaslData::challenge, "");
        return AuthenticationStep::need_more;
    }
    return on_client_first(first, reply);
}

AuthenticationStep Authentication::on_client_first(std::string_view message, std::string& reply) {
    if (const auto fault = exchange_->read_first(message)) return fail(reply, *fault);
    return AuthenticationStep::verifier;
}

void Authentication::on_verifier(const ScramVerifier& verifier, bool is_doomed,
                                 std::string& reply) {
    verifier_ = verifier;
    is_doomed_ = is_doomed;
    awaited_ = Awaited::client_final;
    append_authentication_sasl_data(reply, SaslData::challenge,
                                    exchange_->first_reply(verifier_, nonce_));
}

AuthenticationStep Authentication::on_client_final(std::string_view message, std::string& reply) {
    if (const auto fault = exchange_->read_final(message)) return fail(reply, *fault);
    const bool proves = exchange_->proves(verifier_);
    if (!proves || is_doomed_) {
        append_password_failure(reply, user_);
        return AuthenticationStep::refused;
    }
    append_authentication_sasl_data(reply, SaslData::final, exchange_->final_reply(verifier_));
    return AuthenticationStep::accepted;
}

void append_password_failure(std::string& out, std::string_view user) {
    append_fatal(out, sqlstate::kInvalidPassword,
                 "password authentication failed for user \"" + std::string(user) + '"');
}

void append_method_failure(std::string& out, std::string_view method, std::string_view user) {
    append_fatal(
        out, sqlstate::kInvalidAuthorizationSpecification,
        std::string(method) + " authentication failed for user \"" + std::string(user) + '"');
}

}  // namespace pgb

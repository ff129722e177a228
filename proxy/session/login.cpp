#include "proxy/session/login.h"

#include <map>

#include "protocol/error_response.h"
#include "protocol/ready_for_query.h"
#include "protocol/sql_name.h"
#include "protocol/sqlstate.h"
#include "protocol/startup.h"

namespace pgb {

namespace {

// The protocol numbers of SSLRequest and GSSENCRequest, as "version 1234.x" when sent twice.
constexpr std::uint16_t kRequestMajor = 1234;
constexpr std::uint16_t kSslMinor = 5679;
constexpr std::uint16_t kGssencMinor = 5680;
// A TLS record of this type comes first in a connection; no startup packet is so long that its length
// begins with it.
constexpr char kTlsHandshake = 0x16;

// What PostgreSQL's parse_bool takes for "no": 0, or the beginning of `false`, `off` or `no` in any
// case, as long as it is not the `o` that could also begin `on`.
bool is_off(std::string_view value) {
    if (value.empty() || value == "0") return true;
    const std::string folded = lower_case(value);
    constexpr std::string_view kFalse = "false";
    constexpr std::string_view kNo = "no";
    return kFalse.starts_with(folded) || kNo.starts_with(folded) || folded == "of" ||
           folded == "off";
}

LoginRequest own_request(const StartupPacket& packet) {
    LoginRequest request;
    std::map<std::string, std::string, std::less<>> parameters;
    for (const auto& [name, value] : packet.parameters) {
        if (name == "user" || name == "database" || name == "replication") continue;
        parameters.insert_or_assign(std::string(name), std::string(value));
    }
    request.user = packet.parameter("user");
    request.database = packet.parameter("database");
    if (request.database.empty()) request.database = request.user;
    request.application_name = packet.parameter("application_name");
    request.parameters.assign(parameters.begin(), parameters.end());
    request.protocol_minor = negotiated_minor(packet.minor);
    return request;
}

}  // namespace

void append_fatal(std::string& out, std::string_view sqlstate, std::string_view message,
                  std::string_view detail, std::string_view hint) {
    append_error(out, {.severity = "FATAL",
                       .sqlstate = sqlstate,
                       .message = message,
                       .detail = detail,
                       .hint = hint});
}

void append_greeting(std::string& out,
                     const std::vector<std::pair<std::string, std::string>>& parameters,
                     std::int32_t pid, std::string_view key) {
    append_authentication_ok(out);
    for (const auto& [name, value] : parameters) append_parameter_status(out, name, value);
    append_backend_key_data(out, pid, key);
    append_ready_for_query(out, TransactionStatus::idle);
}

LoginStep Login::refuse(std::string& reply, std::string_view sqlstate, std::string_view message) {
    append_fatal(reply, sqlstate, message);
    return LoginStep::refused;
}

LoginStep Login::on_encryption_request(std::uint16_t minor, bool& seen, std::string_view behind,
                                       std::string& reply) {
    if (seen) {
        append_unsupported_protocol(reply, kRequestMajor, minor);
        return LoginStep::refused;
    }
    seen = true;
    const bool grants = offers_tls_ && minor == kSslMinor;
    reply += grants ? 'S' : 'N';
    if (behind.empty()) {
        if (!grants) return LoginStep::need_more;
        // Inside TLS nothing else is to be had.
        gssenc_seen_ = true;
        return LoginStep::tls;
    }
    // Sent before our answer: by an attacker in between, or by a client that will never be secure.
    return refuse(reply, sqlstate::kProtocolViolation,
                  minor == kSslMinor ? "received unencrypted data after SSL request"
                                     : "received unencrypted data after GSSAPI encryption request");
}

LoginStep Login::on_bytes(std::string_view input, std::size_t& consumed, std::string& reply) {
    consumed = 0;
    if (offers_tls_ && !heard_ && input.starts_with(kTlsHandshake)) {
        heard_ = true;
        offers_tls_ = false;
        return LoginStep::tls;
    }
    const StartupPacket packet = parse_startup(input);
    heard_ = heard_ || packet.consumed > 0;
    switch (packet.kind) {
        case StartupKind::need_more: return LoginStep::need_more;
        case StartupKind::malformed: append_startup_fault(reply, packet); return LoginStep::refused;
        case StartupKind::ssl_request:
            consumed = packet.consumed;
            return on_encryption_request(kSslMinor, ssl_seen_, input.substr(consumed), reply);
        case StartupKind::gssenc_request:
            consumed = packet.consumed;
            return on_encryption_request(kGssencMinor, gssenc_seen_, input.substr(consumed), reply);
        case StartupKind::cancel_request:
            consumed = packet.consumed;
            cancel_pid_ = packet.cancel.pid;
            cancel_key_ = packet.cancel.key;
            return LoginStep::cancel;
        case StartupKind::startup: break;
    }
    consumed = packet.consumed;
    if (needs_negotiation(packet)) {
        append_negotiate_protocol_version(reply, negotiated_minor(packet.minor),
                                          packet.protocol_options);
    }
    if (packet.parameter("user").empty()) {
        return refuse(reply, sqlstate::kInvalidAuthorizationSpecification,
                      "no PostgreSQL user name specified in startup packet");
    }
    if (!is_off(packet.parameter("replication"))) {
        return refuse(reply, sqlstate::kFeatureNotSupported,
                      "replication connections are not served here; connect to PostgreSQL itself");
    }
    request_ = own_request(packet);
    return LoginStep::startup;
}

}  // namespace pgb

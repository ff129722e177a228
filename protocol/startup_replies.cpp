#include "protocol/error_response.h"
#include "protocol/sqlstate.h"
#include "protocol/startup.h"
#include "protocol/writer.h"

namespace pgb {

namespace {

constexpr std::uint32_t kCancelCode = 80877102;

void append_fatal(std::string& out, std::string_view code, std::string_view message) {
    append_error(out, {.severity = "FATAL",
                       .sqlstate = code,
                       .message = message,
                       .routine = "ProcessStartupPacket"});
}

std::string version_text(std::uint32_t major, std::uint32_t minor) {
    return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace

void append_startup_fault(std::string& out, const StartupPacket& packet) {
    switch (packet.fault) {
        case StartupFault::none:
        case StartupFault::length: return;
        case StartupFault::layout:
            append_fatal(out, sqlstate::kProtocolViolation,
                         "invalid startup packet layout: expected terminator as last byte");
            return;
        case StartupFault::unsupported_major:
            append_unsupported_protocol(out, packet.major, packet.minor);
            return;
        case StartupFault::too_many_parameters:
            append_fatal(out, sqlstate::kProtocolViolation,
                         "invalid startup packet layout: more than " +
                             std::to_string(kStartupParameterMax) + " parameters");
            return;
    }
}

void append_unsupported_protocol(std::string& out, std::uint16_t major, std::uint16_t minor) {
    const std::string message = "unsupported frontend protocol " + version_text(major, minor) +
                                ": server supports " + version_text(kProtocolMajor, 0) + " to " +
                                version_text(kProtocolMajor, kProtocolMinorMax);
    if (major >= kProtocolMajor) {
        append_fatal(out, sqlstate::kFeatureNotSupported, message);
    } else {
        // Protocol 2 had no length words and no fields; measured: PostgreSQL 15 still answers so.
        out += "EFATAL:  " + message + '\n' + '\0';
    }
}

void append_negotiate_protocol_version(std::string& out, std::uint16_t minor,
                                       std::span<const std::string_view> unknown_options) {
    MessageWriter writer(out);
    writer.begin(BackendType::negotiate_protocol_version);
    writer.u16(kProtocolMajor).u16(minor);
    writer.u32(static_cast<std::uint32_t>(unknown_options.size()));
    for (const std::string_view name : unknown_options) writer.cstring(name);
    writer.end();
}

void append_authentication_ok(std::string& out) {
    MessageWriter writer(out);
    writer.begin(BackendType::authentication).u32(0).end();
}

void append_backend_key_data(std::string& out, std::int32_t pid, std::string_view key) {
    MessageWriter writer(out);
    writer.begin(BackendType::backend_key_data).i32(pid).bytes(key).end();
}

void append_parameter_status(std::string& out, std::string_view name, std::string_view value) {
    MessageWriter writer(out);
    writer.begin(BackendType::parameter_status).cstring(name).cstring(value).end();
}

void append_cancel_request(std::string& out, std::int32_t pid, std::string_view key) {
    MessageWriter writer(out);
    writer.u32(static_cast<std::uint32_t>(12 + key.size())).u32(kCancelCode).i32(pid).bytes(key);
}

}  // namespace pgb

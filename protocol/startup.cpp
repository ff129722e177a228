#include "protocol/startup.h"

#include <algorithm>

#include "protocol/cursor.h"

namespace pgb {

namespace {

constexpr std::uint32_t kCancelCode = 80877102;  // 1234 << 16 | 5678
constexpr std::uint32_t kSslCode = 80877103;     // 1234 << 16 | 5679
constexpr std::uint32_t kGssencCode = 80877104;  // 1234 << 16 | 5680

constexpr std::size_t kWordSize = 4;

StartupPacket malformed(StartupFault fault, StartupPacket packet = {}) {
    packet.kind = StartupKind::malformed;
    packet.fault = fault;
    packet.consumed = 0;
    return packet;
}

// `key` is what follows the process id, in length only while the packet is incomplete.
bool is_cancel_key_size(std::size_t size) { return size >= kCancelKeyMin && size <= kCancelKeyMax; }

// Name and value pairs up to an empty name. PostgreSQL reads from a buffer with one zero byte
// behind the packet and then asks only that the terminator's place is the last byte; so a single
// byte of garbage in that place passes there, and here.
StartupFault read_parameters(std::string_view body, StartupPacket& packet) {
    const auto string_at = [body](std::size_t at) {
        return body.substr(at, std::min(body.find('\0', at), body.size()) - at);
    };
    std::size_t at = 0;
    while (at < body.size() && body[at] != '\0') {
        const std::string_view name = string_at(at);
        const std::size_t value_at = at + name.size() + 1;
        if (value_at >= body.size()) break;
        const std::string_view value = string_at(value_at);
        if (packet.parameters.size() + packet.protocol_options.size() == kStartupParameterMax) {
            return StartupFault::too_many_parameters;
        }
        if (name.starts_with("_pq_.")) {
            packet.protocol_options.push_back(name);
        } else {
            packet.parameters.emplace_back(name, value);
        }
        at = value_at + value.size() + 1;
    }
    return at + 1 == body.size() ? StartupFault::none : StartupFault::layout;
}

StartupPacket parse_cancel(std::string_view body, StartupPacket packet) {
    Cursor cursor(body);
    packet.kind = StartupKind::cancel_request;
    packet.cancel.pid = cursor.i32();
    packet.cancel.key = cursor.remaining();
    return packet;
}

StartupPacket parse_version(std::string_view body, StartupPacket packet) {
    if (packet.major != kProtocolMajor) return malformed(StartupFault::unsupported_major, packet);
    packet.kind = StartupKind::startup;
    const StartupFault fault = read_parameters(body, packet);
    return fault == StartupFault::none ? packet : malformed(fault, packet);
}

}  // namespace

std::string_view StartupPacket::parameter(std::string_view name) const {
    for (auto it = parameters.rbegin(); it != parameters.rend(); ++it) {
        if (it->first == name) return it->second;
    }
    return {};
}

StartupPacket parse_startup(std::string_view input) {
    Cursor cursor(input);
    const std::uint32_t length = cursor.u32();
    if (cursor.failed()) return {};
    if (length < 2 * kWordSize || length > kStartupBodyMax + kWordSize) {
        return malformed(StartupFault::length);
    }
    const std::uint32_t code = cursor.u32();
    if (cursor.failed()) return {};
    // A cancel key has a bound of its own; size_t wraps to something huge when there is no room
    // for the process id.
    if (code == kCancelCode && !is_cancel_key_size(std::size_t{length} - 3 * kWordSize)) {
        return malformed(StartupFault::length);
    }
    const std::string_view body = cursor.bytes(length - 2 * kWordSize);
    if (cursor.failed()) return {};

    StartupPacket packet;
    packet.consumed = length;
    packet.major = static_cast<std::uint16_t>(code >> 16);
    packet.minor = static_cast<std::uint16_t>(code & 0xffff);
    if (code == kCancelCode) return parse_cancel(body, packet);
    if (code == kSslCode || code == kGssencCode) {
        // PostgreSQL looks at nothing behind the code of these two.
        packet.kind = code == kSslCode ? StartupKind::ssl_request : StartupKind::gssenc_request;
        return packet;
    }
    return parse_version(body, std::move(packet));
}

bool needs_negotiation(const StartupPacket& packet) {
    return packet.minor > kProtocolMinorMax || !packet.protocol_options.empty();
}

}  // namespace pgb

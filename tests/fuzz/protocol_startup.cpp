#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/error_response.h"
#include "protocol/startup.h"
#include "tests/fuzz/require.h"

namespace {

using pgb::fuzz::require;

// Options split and written again with every byte escaped must split into the same.
void check_options(std::string_view options) {
    const auto settings = pgb::parse_options(options);
    if (!settings) return;
    std::string again;
    for (const auto& [name, value] : *settings) {
        again += " -c ";
        for (const char c : name + "=" + value) again += {'\\', c};
    }
    require(pgb::parse_options(again) == settings);
}

}  // namespace

// A beginning of a packet either asks for more or is refused for good.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb;
    const std::string input(reinterpret_cast<const char*>(data), size);
    const StartupPacket packet = parse_startup(input);
    require(packet.consumed <= input.size());
    if (packet.kind == StartupKind::need_more) require(size < kStartupBodyMax + 4);
    std::string answer;
    append_startup_fault(answer, packet);
    if (!answer.empty()) {
        require(packet.kind == StartupKind::malformed);
        const bool is_old = packet.fault == StartupFault::unsupported_major && packet.major < 3;
        require(is_old || parse_error(std::string_view(answer).substr(5)).has_value());
    }
    for (std::size_t cut = 0; cut < size && cut < 64; ++cut) {
        const StartupPacket early = parse_startup(std::string_view(input).substr(0, cut));
        if (early.kind == StartupKind::malformed) require(packet.kind == StartupKind::malformed);
        if (early.kind == StartupKind::startup) require(early.parameters == packet.parameters);
    }
    for (const auto& [name, value] : packet.parameters) {
        if (name == "options") check_options(value);
    }
    check_options(input);
    return 0;
}

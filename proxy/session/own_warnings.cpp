#include "proxy/session/own_warnings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace pgb {

namespace {
// PostgreSQL takes no more than ERROR; FATAL and PANIC are names of old versions for the same.
constexpr std::array<std::string_view, 3> kAboveWarning = {"'error'", "'fatal'", "'panic'"};

bool ends_with_level(std::string_view text, std::string_view level) {
    if (text.size() < level.size()) return false;
    const std::string_view end = text.substr(text.size() - level.size());
    return std::equal(end.begin(), end.end(), level.begin(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}
}  // namespace

VirtualBlock::Warnings warnings_for(const SettingsBook& settings) {
    const std::string_view text = settings.text_of("client_min_messages");
    const bool muted =
        std::any_of(kAboveWarning.begin(), kAboveWarning.end(),
                    [text](std::string_view level) { return ends_with_level(text, level); });
    return muted ? VirtualBlock::Warnings::muted : VirtualBlock::Warnings::told;
}

}  // namespace pgb

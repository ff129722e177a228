#include "proxy/session/known_parses.h"

#include <functional>
#include <utility>

namespace pgb {

KnownParses::Digest KnownParses::digest(std::uint64_t origin, std::uint64_t settings,
                                        std::string_view text, std::string_view types) {
    Digest sum = std::hash<std::string_view>{}(text);
    for (const std::uint64_t part :
         {std::uint64_t{std::hash<std::string_view>{}(types)}, origin, settings}) {
        sum = (sum ^ part) * 0x9e3779b97f4a7c15U;
    }
    return sum;
}

std::optional<std::size_t> KnownParses::parameter_count(Digest parse) const {
    if (const auto found = young_.find(parse); found != young_.end()) return found->second;
    if (const auto found = old_.find(parse); found != old_.end()) return found->second;
    return std::nullopt;
}

void KnownParses::add(Digest parse, std::size_t parameter_count) {
    young_[parse] = parameter_count;
    if (young_.size() < kGenerationMax) return;
    old_ = std::exchange(young_, {});
}

void KnownParses::forget(Digest parse) {
    young_.erase(parse);
    old_.erase(parse);
}

void KnownParses::forget_all() {
    young_.clear();
    old_.clear();
}

}  // namespace pgb

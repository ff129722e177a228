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

std::shared_ptr<const AcceptedParse> KnownParses::find(Digest parse) const {
    if (const auto found = young_.find(parse); found != young_.end()) return found->second;
    if (const auto found = old_.find(parse); found != old_.end()) return found->second;
    return nullptr;
}

void KnownParses::add(Digest parse, const AcceptedParse& accepted) {
    std::shared_ptr<const AcceptedParse> known = find(parse);
    if (known == nullptr || *known != accepted) {
        known = std::make_shared<const AcceptedParse>(accepted);
    }
    young_[parse] = std::move(known);
    young_bytes_ += accepted.types.size();
    if (young_.size() < kGenerationMax && young_bytes_ < kGenerationBytesMax) return;
    old_ = std::exchange(young_, {});
    young_bytes_ = 0;
}

void KnownParses::forget(Digest parse) {
    young_.erase(parse);
    old_.erase(parse);
}

void KnownParses::forget_all() {
    young_.clear();
    old_.clear();
    young_bytes_ = 0;
}

}  // namespace pgb

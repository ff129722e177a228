#pragma once

#include <cstdlib>
#include <string_view>

namespace pgb::fuzz {

/// What must hold whatever the input: libFuzzer keeps an input that ends here.
inline void require(bool condition) {
    if (!condition) std::abort();
}

inline bool is_within(std::string_view part, std::string_view whole) {
    return part.empty() || (part.data() >= whole.data() &&
                            part.data() + part.size() <= whole.data() + whole.size());
}

/// Takes up to `size` bytes from the front of `input`.
inline std::string_view take(std::string_view& input, std::size_t size) {
    const std::string_view taken = input.substr(0, size);
    input.remove_prefix(taken.size());
    return taken;
}

}  // namespace pgb::fuzz

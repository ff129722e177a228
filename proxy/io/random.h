#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace pgb {

/// Fills from the kernel's generator; aborts when it has none, since guessable keys are worse.
void fill_random(std::span<char> into);

/// `count` random bytes: a cancel key, a nonce.
[[nodiscard]] std::string random_bytes(std::size_t count);

}  // namespace pgb

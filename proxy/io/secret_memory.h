#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "proxy/base/result.h"

namespace pgb {

/// Memory for secrets: pages of its own, kept out of core dumps and, where the limit of locked memory
/// allows it, out of swap; overwritten before they go back to the system. Stays where it is when it
/// is moved.
class SecretMemory {
public:
    SecretMemory() = default;
    explicit SecretMemory(std::size_t size);
    explicit SecretMemory(std::string_view secret);
    ~SecretMemory();
    SecretMemory(SecretMemory&& other) noexcept;
    SecretMemory& operator=(SecretMemory&& other) noexcept;

    [[nodiscard]] std::span<char> bytes() { return {data_, size_}; }
    [[nodiscard]] std::string_view view() const { return {data_, size_}; }

private:
    void give_back();

    char* data_ = nullptr;
    std::size_t size_ = 0;
};

/// A whole file of at most `size_max` bytes; nothing of it is left anywhere else.
[[nodiscard]] Result<SecretMemory> read_secret_file(const std::string& path, std::size_t size_max);

}  // namespace pgb

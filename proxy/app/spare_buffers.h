#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace pgb {

/// The memory of buffers that have become empty, for the next connection whose bytes must wait:
/// an idle connection owns none, and a busy one does not go to the allocator for each message.
/// Holds at most kCountMax x kSizeMax bytes; what is larger or too many is freed.
class SpareBuffers {
public:
    SpareBuffers() { spare_.reserve(kCountMax); }

    /// An empty string, with memory if there is some.
    std::string take() {
        if (spare_.empty()) return {};
        std::string buffer = std::move(spare_.back());
        spare_.pop_back();
        return buffer;
    }

    void give_back(std::string&& buffer) {
        const bool of_use = buffer.capacity() >= kSizeMin && buffer.capacity() <= kSizeMax;
        if (!of_use || spare_.size() == kCountMax) return;
        buffer.clear();
        spare_.push_back(std::move(buffer));
    }

    static constexpr std::size_t kCountMax = 64;
    static constexpr std::size_t kSizeMin = 64;
    static constexpr std::size_t kSizeMax = std::size_t{16} << 10;

private:
    std::vector<std::string> spare_;
};

}  // namespace pgb

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace pgb {

/// Empties a string and gives its memory back; assigning an empty one would keep it.
inline void free_memory(std::string& text) {
    text.clear();
    if (text.capacity() > std::string().capacity()) std::string().swap(text);
}

/// The memory of buffers that have become empty, for the next connection whose bytes must wait:
/// an idle connection owns none, and a busy one does not go to the allocator for each message.
/// Holds at most kCountMax x kSizeMax bytes; what is larger or too many is freed.
class SpareBuffers {
public:
    SpareBuffers() { spare_.reserve(kCountMax); }

    /// Lends memory to a string that has none.
    void lend_to(std::string& empty) {
        if (spare_.empty()) {
            empty.reserve(kSizeMin);
            return;
        }
        empty.swap(spare_.back());
        spare_.pop_back();
    }

    /// Leaves `buffer` empty and without memory.
    void give_back(std::string& buffer) {
        const bool of_use = buffer.capacity() >= kSizeMin && buffer.capacity() <= kSizeMax;
        if (of_use && spare_.size() < kCountMax) {
            spare_.push_back(std::move(buffer));
            spare_.back().clear();
        }
        free_memory(buffer);
    }

    static constexpr std::size_t kCountMax = 64;
    static constexpr std::size_t kSizeMin = 512;
    static constexpr std::size_t kSizeMax = std::size_t{16} << 10;

private:
    std::vector<std::string> spare_;
};

}  // namespace pgb

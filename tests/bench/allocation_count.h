#pragma once

// Replaces the allocation functions of the program that includes this, in one of its sources only,
// by ones that count. All forms are replaced, or one that is not would hand memory of the library's
// to a delete of ours.

#include <cstddef>
#include <cstdlib>
#include <new>

namespace pgb::test {

inline std::size_t allocation_count = 0;
inline std::size_t allocated_bytes = 0;

inline void* counted_allocation(std::size_t size, std::size_t alignment) {
    ++allocation_count;
    allocated_bytes += size;
    // aligned_alloc wants a multiple of the alignment.
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

inline void* counted_allocation_or_throw(std::size_t size, std::size_t alignment) {
    if (void* memory = counted_allocation(size, alignment)) return memory;
    throw std::bad_alloc();
}

inline constexpr std::size_t kDefaultAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace pgb::test

void* operator new(std::size_t size) {
    return pgb::test::counted_allocation_or_throw(size, pgb::test::kDefaultAlignment);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return pgb::test::counted_allocation_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return pgb::test::counted_allocation(size, pgb::test::kDefaultAlignment);
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return operator new(size, alignment);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
    return operator new(size, tag);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

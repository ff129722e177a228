#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pgb {

/// Reads a message body and never past its end. A read that does not fit sets failed(), consumes
/// nothing, and yields 0 or an empty view; every later read fails too, so that a decoder may read
/// all it wants and look at failed() once. Views point into the body.
class Cursor {
public:
    explicit Cursor(std::string_view body) : rest_(body) {}

    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] std::string_view remaining() const { return rest_; }
    /// Everything was read and nothing failed.
    [[nodiscard]] bool at_end() const { return !failed_ && rest_.empty(); }

    std::uint8_t u8() { return static_cast<std::uint8_t>(number<1>()); }
    std::uint16_t u16() { return static_cast<std::uint16_t>(number<2>()); }
    std::int16_t i16() { return static_cast<std::int16_t>(u16()); }
    std::uint32_t u32() { return number<4>(); }
    std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
    std::string_view bytes(std::size_t size);
    /// The bytes before the next NUL, which is consumed too; no NUL: failed().
    std::string_view cstring() {
        // Most names in messages are empty.
        if (failed_ || rest_.empty() || rest_.front() != '\0') return long_cstring();
        rest_.remove_prefix(1);
        return {};
    }

private:
    std::string_view long_cstring();
    bool can_take(std::size_t size) {
        if (failed_ || rest_.size() < size) failed_ = true;
        return !failed_;
    }
    // In network order.
    template <std::size_t Size>
    std::uint32_t number() {
        if (!can_take(Size)) return 0;
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < Size; ++i) {
            value = value << 8 | static_cast<unsigned char>(rest_[i]);
        }
        rest_.remove_prefix(Size);
        return value;
    }

    std::string_view rest_;
    bool failed_ = false;
};

}  // namespace pgb

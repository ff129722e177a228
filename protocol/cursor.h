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

    std::uint8_t u8();
    std::uint16_t u16();
    std::int16_t i16() { return static_cast<std::int16_t>(u16()); }
    std::uint32_t u32();
    std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
    std::string_view bytes(std::size_t size);
    /// The bytes before the next NUL, which is consumed too; no NUL: failed().
    std::string_view cstring();

private:
    bool can_take(std::size_t size);

    std::string_view rest_;
    bool failed_ = false;
};

}  // namespace pgb

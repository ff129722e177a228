#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/message_type.h"

namespace pgb {

/// Appends messages to a string of the caller's. Integers are big-endian ("Message Data Types").
/// Between begin() and end() exactly one message is open; the string must not be changed by
/// others in that time, and must outlive the writer. Without begin() the untyped packets of
/// startup.h can be written, length word and all.
class MessageWriter {
public:
    explicit MessageWriter(std::string& out) : out_(out) {}

    MessageWriter& begin(char type);
    MessageWriter& begin(BackendType type) { return begin(static_cast<char>(type)); }
    MessageWriter& begin(FrontendType type) { return begin(static_cast<char>(type)); }

    MessageWriter& u8(std::uint8_t value);
    MessageWriter& u16(std::uint16_t value);
    MessageWriter& i16(std::int16_t value) { return u16(static_cast<std::uint16_t>(value)); }
    MessageWriter& u32(std::uint32_t value);
    MessageWriter& i32(std::int32_t value) { return u32(static_cast<std::uint32_t>(value)); }
    MessageWriter& bytes(std::string_view value);
    /// The value up to its first NUL, if it has one, and a NUL: a peer's text can never smuggle a
    /// second string into a message.
    MessageWriter& cstring(std::string_view value);

    /// Writes the length word of the open message.
    void end();

private:
    std::string& out_;
    std::size_t length_at_ = 0;
};

}  // namespace pgb

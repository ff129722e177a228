#include "protocol/cursor.h"

namespace pgb {

bool Cursor::can_take(std::size_t size) {
    if (failed_ || rest_.size() < size) {
        failed_ = true;
        return false;
    }
    return true;
}

std::string_view Cursor::bytes(std::size_t size) {
    if (!can_take(size)) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
}

std::uint8_t Cursor::u8() {
    const std::string_view raw = bytes(1);
    return raw.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(raw[0]);
}

std::uint16_t Cursor::u16() {
    if (!can_take(2)) return 0;
    const unsigned high = u8();
    const unsigned low = u8();
    return static_cast<std::uint16_t>(high << 8 | low);
}

std::uint32_t Cursor::u32() {
    if (!can_take(4)) return 0;
    const std::uint32_t high = u16();
    const std::uint32_t low = u16();
    return high << 16 | low;
}

std::string_view Cursor::cstring() {
    const std::size_t end = failed_ ? std::string_view::npos : rest_.find('\0');
    if (end == std::string_view::npos) {
        failed_ = true;
        return {};
    }
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
}

}  // namespace pgb

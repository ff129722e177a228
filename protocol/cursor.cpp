#include "protocol/cursor.h"

namespace pgb {

std::string_view Cursor::bytes(std::size_t size) {
    if (!can_take(size)) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
}

std::string_view Cursor::long_cstring() {
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

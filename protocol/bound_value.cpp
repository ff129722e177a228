#include "protocol/bound_value.h"

#include <cstdint>

#include "protocol/cursor.h"

namespace pgb {

std::optional<BoundValue> bound_value(std::string_view body, unsigned number) {
    Cursor cursor(body);
    cursor.cstring();
    cursor.cstring();
    // No format: all are text; one: it is that of all.
    const unsigned formats = cursor.u16();
    std::uint16_t format = 0;
    for (unsigned i = 1; i <= formats && !cursor.failed(); ++i) {
        const std::uint16_t code = cursor.u16();
        if (formats == 1 || i == number) format = code;
    }
    const unsigned count = cursor.u16();
    if (number == 0 || number > count || (formats > 1 && number > formats) || format > 1) {
        return std::nullopt;
    }
    for (unsigned i = 1; !cursor.failed(); ++i) {
        const std::int32_t size = cursor.i32();
        const std::string_view bytes =
            size < 0 ? std::string_view() : cursor.bytes(static_cast<std::size_t>(size));
        if (cursor.failed()) break;
        if (i == number) return BoundValue{size < 0, format == 1, bytes};
    }
    return std::nullopt;
}

}  // namespace pgb

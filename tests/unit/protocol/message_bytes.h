#pragma once

#include <string>
#include <string_view>

#include "protocol/writer.h"

namespace pgb {

/// One typed message with this body.
inline std::string message(char type, std::string_view body) {
    std::string out;
    MessageWriter(out).begin(type).bytes(body).end();
    return out;
}

/// A literal that may hold zero bytes: `"a\0b"_bytes`.
inline std::string operator""_bytes(const char* text, std::size_t size) {
    return std::string(text, size);
}

}  // namespace pgb

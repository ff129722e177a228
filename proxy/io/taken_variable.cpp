#include "proxy/io/taken_variable.h"

#include <charconv>
#include <cstdlib>

namespace pgb {

std::optional<std::string> take_variable(const char* name) {
    const char* text = std::getenv(name);
    if (text == nullptr) return std::nullopt;
    std::string value = text;
    unsetenv(name);
    return value;
}

std::optional<std::int64_t> take_number(const char* name) {
    const std::optional<std::string> text = take_variable(name);
    if (!text) return std::nullopt;
    std::int64_t number = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
    return number;
}

}  // namespace pgb

#include "config/environment.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "config/codes.h"
#include "config/read.h"

namespace pgb::config {
namespace {

bool is_variable_name(std::string_view name) {
    const auto fits = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
           std::all_of(name.begin(), name.end(), fits);
}

std::variant<std::string, Problem> value_of(std::string_view inside, const EnvLookup& env) {
    const std::size_t split = inside.find(":-");
    const std::string_view name = inside.substr(0, split);
    if (!is_variable_name(name)) {
        return Problem{code::kVariable,
                       "has a malformed variable; write ${NAME} or ${NAME:-default}", ""};
    }
    const std::optional<std::string> value = env ? env(name) : std::nullopt;
    if (split != std::string_view::npos && (!value || value->empty())) {
        return std::string(inside.substr(split + 2));
    }
    if (!value) {
        return Problem{code::kVariable,
                       "needs the environment variable " + quote(name) + ", which is not set", ""};
    }
    return *value;
}

}  // namespace

std::variant<std::string, Problem> replace_variables(std::string_view text, const EnvLookup& env) {
    std::string result;
    while (true) {
        const std::size_t start = text.find("${");
        if (start == std::string_view::npos) return result.append(text);
        if (start > 0 && text[start - 1] == '$') {
            result.append(text.substr(0, start - 1)).append("${");
            text.remove_prefix(start + 2);
            continue;
        }
        result.append(text.substr(0, start));
        const std::size_t end = text.find('}', start);
        if (end == std::string_view::npos) {
            return Problem{code::kVariable, "has a `${` without its `}`", ""};
        }
        auto value = value_of(text.substr(start + 2, end - start - 2), env);
        if (std::holds_alternative<Problem>(value)) return value;
        result.append(std::get<std::string>(value));
        text.remove_prefix(end + 1);
    }
}

}  // namespace pgb::config

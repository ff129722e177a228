#include "proxy/session/rowless_text.h"

#include <algorithm>
#include <cstdint>

#include "protocol/ascii.h"
#include "protocol/cursor.h"
#include "protocol/sql_scanner.h"

namespace pgb {

namespace {

// A type that is not declared is PostgreSQL's to find.
bool are_declared(std::string_view types) {
    Cursor cursor(types);
    while (!cursor.remaining().empty()) {
        if (cursor.u32() == 0) return false;
    }
    return true;
}

// The number behind the sign of `$7`, which stands at the beginning of `rest`.
std::size_t parameter_number(std::string_view rest) {
    std::size_t number = 0;
    for (std::size_t i = 1; i < rest.size() && is_digit(rest[i]) && number <= UINT16_MAX; ++i) {
        number = number * 10 + static_cast<std::size_t>(rest[i] - '0');
    }
    return number;
}

}  // namespace

std::optional<std::string_view> types_if_rowless(const ParseRequest& parse) {
    if (!parse.well_formed() || parse.truncated || !are_declared(parse.types)) return std::nullopt;
    SqlScanner scanner(parse.text);
    SqlToken token = scanner.next();
    if (!token.is("insert") && !token.is("update") && !token.is("delete")) return std::nullopt;
    for (; token.kind != SqlTokenKind::end; token = scanner.next()) {
        if (token.text.empty() || token.is("returning")) return std::nullopt;
        if (token.text[0] != '$') continue;
        const auto at = static_cast<std::size_t>(token.text.data() - parse.text.data());
        if (parameter_number(parse.text.substr(at)) > parse.parameter_type_count) {
            return std::nullopt;
        }
    }
    return parse.types;
}

}  // namespace pgb

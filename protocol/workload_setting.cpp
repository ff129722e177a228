#include "protocol/workload_setting.h"

#include "protocol/sql_name.h"
#include "protocol/sql_scanner.h"

namespace pgb {

namespace {

constexpr std::string_view kClass = "pgbulkhead";
constexpr std::string_view kName = "workload";

bool is_sign(const SqlToken& token, char sign) {
    return token.kind == SqlTokenKind::other && token.text.size() == 1 && token.text[0] == sign;
}

bool is_name(const SqlToken& token, std::string_view name) {
    return (token.kind == SqlTokenKind::word && lower_case(token.text) == name) ||
           (token.kind == SqlTokenKind::quoted && unquoted(token.text) == name);
}

bool take_name(SqlScanner& scanner, SqlToken token) {
    return is_name(token, kClass) && is_sign(scanner.next(), '.') && is_name(scanner.next(), kName);
}

std::optional<std::string> value_of(const SqlToken& token) {
    if (token.kind == SqlTokenKind::string || token.kind == SqlTokenKind::quoted) {
        return unquoted(token.text);
    }
    if (token.kind != SqlTokenKind::word || token.is("default")) return std::nullopt;
    return lower_case(token.text);
}

std::optional<std::string> read_set(SqlScanner& scanner) {
    SqlToken token = scanner.next();
    if (token.is("local") || token.is("session")) token = scanner.next();
    if (!take_name(scanner, token)) return std::nullopt;
    const SqlToken sign = scanner.next();
    if (!sign.is("to") && !is_sign(sign, '=')) return std::nullopt;
    std::optional<std::string> value = value_of(scanner.next());
    const SqlToken behind = scanner.next();
    const bool ends = behind.kind == SqlTokenKind::end || behind.kind == SqlTokenKind::semicolon;
    return ends ? value : std::nullopt;
}

std::optional<std::string> read_set_config(SqlScanner& scanner) {
    SqlToken token = scanner.next();
    if (is_name(token, "pg_catalog")) {
        if (!is_sign(scanner.next(), '.')) return std::nullopt;
        token = scanner.next();
    }
    if (!is_name(token, "set_config") || !is_sign(scanner.next(), '(')) return std::nullopt;
    const SqlToken name = scanner.next();
    if (name.kind != SqlTokenKind::string || unquoted(name.text) != kWorkloadSetting) {
        return std::nullopt;
    }
    if (scanner.next().kind != SqlTokenKind::comma) return std::nullopt;
    const SqlToken value = scanner.next();
    if (value.kind != SqlTokenKind::string) return std::nullopt;
    return unquoted(value.text);
}

}  // namespace

std::optional<std::string> read_workload_setting(std::string_view text) {
    SqlScanner scanner(text);
    const SqlToken first = scanner.next();
    if (first.is("set")) return read_set(scanner);
    if (first.is("select")) return read_set_config(scanner);
    return std::nullopt;
}

}  // namespace pgb

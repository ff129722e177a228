#include "proxy/session/statement_target.h"

#include <utility>

#include "protocol/sql_name.h"
#include "protocol/sql_scanner.h"

namespace pgb {

namespace {

// PostgreSQL cuts longer names (NAMEDATALEN).
constexpr std::size_t kNameMax = 63;

std::string name_of(const SqlToken& token) {
    if (token.kind != SqlTokenKind::word && token.kind != SqlTokenKind::quoted) return {};
    return looked_up_name(token.text).substr(0, kNameMax);
}

StatementTarget::Kind kind_of(const SqlToken& first) {
    if (first.is("prepare")) return StatementTarget::Kind::prepare;
    if (first.is("execute")) return StatementTarget::Kind::execute;
    if (first.is("deallocate")) return StatementTarget::Kind::deallocate;
    return StatementTarget::Kind::none;
}

// What stands where the name would be. PREPARE may be left out of DEALLOCATE, and may be the name.
SqlToken read_name(SqlScanner& scanner, StatementTarget::Kind kind) {
    const SqlToken token = scanner.next();
    if (kind != StatementTarget::Kind::deallocate || !token.is("prepare")) return token;
    SqlScanner ahead = scanner;
    const SqlToken behind = ahead.next();
    if (behind.kind != SqlTokenKind::word && behind.kind != SqlTokenKind::quoted) return token;
    scanner = ahead;
    return behind;
}

}  // namespace

StatementTarget read_statement_target(std::string_view text) {
    SqlScanner scanner(text);
    SqlToken token = scanner.next();
    while (token.kind == SqlTokenKind::semicolon) token = scanner.next();
    StatementTarget target;
    const bool discards = token.is("discard");
    target.kind = kind_of(token);
    if (target.kind == StatementTarget::Kind::none && !discards) return target;
    token = read_name(scanner, target.kind);
    if (discards) {
        if (!token.is("all")) return {};
        target.kind = StatementTarget::Kind::discard_all;
    } else if (target.kind == StatementTarget::Kind::deallocate && token.is("all")) {
        target.kind = StatementTarget::Kind::deallocate_all;
    } else {
        target.name = name_of(token);
        if (target.name.empty()) return {};
    }
    do {
        token = scanner.next();
    } while (token.kind == SqlTokenKind::semicolon);
    target.alone = token.kind == SqlTokenKind::end;
    return target;
}

std::vector<std::string> read_later_targets(std::string_view text) {
    std::vector<std::string> names;
    SqlScanner scanner(text);
    bool first = true;
    bool first_statement = true;
    for (SqlToken token = scanner.next(); token.kind != SqlTokenKind::end; token = scanner.next()) {
        if (token.text.empty()) break;
        if (token.kind == SqlTokenKind::semicolon) {
            first = true;
            continue;
        }
        const StatementTarget::Kind kind = kind_of(token);
        const bool begins = std::exchange(first, false);
        if (begins && first_statement) {
            first_statement = false;
            continue;
        }
        // DEALLOCATE is a statement's first word, EXECUTE may stand behind others.
        if (kind != StatementTarget::Kind::execute &&
            !(begins && kind == StatementTarget::Kind::deallocate)) {
            continue;
        }
        const std::string name = name_of(read_name(scanner, kind));
        if (!name.empty()) names.push_back(name);
    }
    return names;
}

}  // namespace pgb

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/sql_name.h"
#include "protocol/sql_scanner.h"
#include "protocol/workload_setting.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb;
using fuzz::require;

void check_token(const SqlToken& token) {
    switch (token.kind) {
        case SqlTokenKind::quoted:
        case SqlTokenKind::string: {
            require(token.text.size() >= 2 && token.text.front() == token.text.back());
            const std::string inside = unquoted(token.text);
            require(inside.size() <= token.text.size() - 2);
            if (token.kind == SqlTokenKind::quoted) require(looked_up_name(token.text) == inside);
            break;
        }
        case SqlTokenKind::word: {
            const std::string name = looked_up_name(token.text);
            require(name.size() == token.text.size() && lower_case(name) == name);
            require(is_in_any_case(token.text, name));
            break;
        }
        case SqlTokenKind::comma:
        case SqlTokenKind::semicolon: require(token.text.size() == 1); break;
        case SqlTokenKind::end:
        case SqlTokenKind::other: break;
    }
    (void)is_plain_name(token);
    (void)is_plain_literal(token);
}

}  // namespace

// Tokens follow each other in the text, and it ends. A setting is found in what stands alone only.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    SqlScanner scanner(text);
    const char* at = text.data();
    std::size_t count = 0;
    for (;;) {
        const SqlToken token = scanner.next();
        if (token.kind == SqlTokenKind::end) break;
        require(fuzz::is_within(token.text, text));
        if (!token.text.empty()) {
            require(token.text.data() >= at);
            at = token.text.data() + token.text.size();
        }
        check_token(token);
        // An open comment is a token without text, and the last one.
        require(++count <= size + 1);
    }
    require(scanner.next().kind == SqlTokenKind::end);

    SqlScanner statements(text);
    for (count = 0; statements.skip_statement(); ++count) require(count < size);

    const auto workload = read_workload_setting(text);
    require(!workload || workload->size() < size);
    return 0;
}

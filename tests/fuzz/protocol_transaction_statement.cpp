#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/transaction_statement.h"
#include "tests/fuzz/require.h"

namespace {

bool is_commit(pgb::TransactionVerb verb) {
    using V = pgb::TransactionVerb;
    return verb == V::commit || verb == V::end_ || verb == V::commit_and_chain ||
           verb == V::prepare_transaction || verb == V::commit_prepared;
}

}  // namespace

// The readers of the same text must not contradict each other.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pgb;
    using fuzz::require;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const TransactionStatement statement = parse_transaction_statement(text);
    const TransactionVerb first = first_verb(text);
    if (statement.verb != TransactionVerb::none) require(first == statement.verb);
    if (is_commit(first)) require(may_commit(text));
    if (statement.verb == TransactionVerb::begin) {
        require(parse_transaction_statement(statement.modes.begin_text()).modes == statement.modes);
    }
    if (!statement.name.empty()) {
        require(statement.name.data() >= text.data());
        require(statement.name.data() + statement.name.size() <= text.data() + text.size());
    }
    // A statement behind a recognised one changes nothing about the first, and may commit.
    if (statement.verb != TransactionVerb::none && statement.verb != TransactionVerb::empty) {
        const std::string more = text + "\n;commit";
        require(first_verb(more) == statement.verb);
        require(parse_transaction_statement(more).verb == TransactionVerb::none);
        require(may_commit(more));
    }
    return 0;
}

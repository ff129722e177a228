#include "protocol/transaction_statement.h"

#include "protocol/sql_name.h"
#include "protocol/sql_scanner.h"

namespace pgb {

namespace {

using V = TransactionVerb;

enum class Ending : bool { whole_text, first_statement };

// PostgreSQL's TransactionStmt and TransactionStmtLegacy (its gram.y), read top down. A rule that
// does not fit sets failed_, after which nothing else matters.
class StatementParser {
public:
    explicit StatementParser(std::string_view text) : scanner_(text) { advance(); }

    TransactionStatement parse(Ending ending) {
        while (token_.kind == SqlTokenKind::semicolon) advance();
        if (token_.kind == SqlTokenKind::end) return {V::empty, {}, {}};
        if (token_.kind != SqlTokenKind::word) return {};
        TransactionStatement statement;
        statement.verb = verb(statement);
        if (statement.verb == V::none || failed_ || !ends(ending)) return {};
        return statement;
    }

private:
    void advance() { token_ = scanner_.next(); }

    bool take(std::string_view keyword) {
        if (!token_.is(keyword)) return false;
        advance();
        return true;
    }

    void expect(std::string_view keyword) {
        if (!take(keyword)) failed_ = true;
    }

    bool ends(Ending ending) {
        if (ending == Ending::first_statement && token_.kind == SqlTokenKind::semicolon)
            return true;
        while (token_.kind == SqlTokenKind::semicolon) advance();
        return token_.kind == SqlTokenKind::end;
    }

    // The switch keeps ordinary SQL down to one comparison at most.
    V verb(TransactionStatement& statement) {
        switch (token_.text[0] | 0x20) {
            case 'a': return take("abort") ? finish(V::abort_, V::rollback_and_chain) : kNone;
            case 'b': return take("begin") ? begin(statement) : kNone;
            case 'c': return take("commit") ? commit(statement) : kNone;
            case 'e': return take("end") ? finish(V::end_, V::commit_and_chain) : kNone;
            case 'p': return take("prepare") ? prepare(statement) : kNone;
            case 'r':
                if (take("rollback")) return rollback(statement);
                return take("release") ? release(statement) : kNone;
            case 's':
                if (take("set")) return set(statement);
                if (take("start")) return start(statement);
                return take("savepoint") ? savepoint(statement) : kNone;
            default: return kNone;
        }
    }

    V begin(TransactionStatement& statement) {
        optional_noise();
        modes(statement.modes);
        return V::begin;
    }

    V start(TransactionStatement& statement) {
        expect("transaction");
        if (!failed_) modes(statement.modes);
        return V::start_transaction;
    }

    V set(TransactionStatement& statement) {
        expect("transaction");
        if (!failed_ && !modes(statement.modes)) failed_ = true;
        return V::set_transaction;
    }

    V commit(TransactionStatement& statement) {
        if (!take("prepared")) return finish(V::commit, V::commit_and_chain);
        literal(statement);
        return V::commit_prepared;
    }

    V rollback(TransactionStatement& statement) {
        if (take("prepared")) {
            literal(statement);
            return V::rollback_prepared;
        }
        optional_noise();
        if (take("to")) {
            savepoint_and_name(statement);
            return V::rollback_to;
        }
        return chain() ? V::rollback_and_chain : V::rollback;
    }

    V finish(V plain, V chained) {
        optional_noise();
        return chain() ? chained : plain;
    }

    V prepare(TransactionStatement& statement) {
        expect("transaction");
        literal(statement);
        return V::prepare_transaction;
    }

    V savepoint(TransactionStatement& statement) {
        name(statement);
        return V::savepoint;
    }

    V release(TransactionStatement& statement) {
        savepoint_and_name(statement);
        return V::release;
    }

    void optional_noise() {
        if (!take("work")) take("transaction");
    }

    bool chain() {
        if (!take("and")) return false;
        const bool is_chain = !take("no");
        expect("chain");
        return is_chain;
    }

    void name(TransactionStatement& statement) {
        if (!is_plain_name(token_)) {
            failed_ = true;
            return;
        }
        statement.name = token_.text;
        advance();
    }

    // SAVEPOINT is a noise word here unless nothing follows it: then it is the name.
    void savepoint_and_name(TransactionStatement& statement) {
        const SqlToken first = token_;
        if (take("savepoint") && !is_plain_name(token_)) {
            statement.name = first.text;
            return;
        }
        name(statement);
    }

    void literal(TransactionStatement& statement) {
        if (!is_plain_literal(token_)) {
            failed_ = true;
            return;
        }
        statement.name = token_.text;
        advance();
    }

    // Whether there was at least one mode.
    bool modes(TransactionModes& modes) {
        if (!mode(modes)) return false;
        while (!failed_) {
            if (token_.kind == SqlTokenKind::comma) {
                advance();
                if (!mode(modes)) failed_ = true;
            } else if (!mode(modes)) {
                break;
            }
        }
        return true;
    }

    bool mode(TransactionModes& modes) {
        if (take("isolation")) {
            expect("level");
            modes.isolation = isolation();
        } else if (take("read")) {
            const bool read_only = take("only");
            if (!read_only) expect("write");
            modes.access = read_only ? Access::read_only : Access::read_write;
        } else if (take("not")) {
            expect("deferrable");
            modes.deferrability = Deferrability::not_deferrable;
        } else if (take("deferrable")) {
            modes.deferrability = Deferrability::deferrable;
        } else {
            return false;
        }
        return true;
    }

    IsolationLevel isolation() {
        if (take("serializable")) return IsolationLevel::serializable;
        if (take("repeatable")) {
            expect("read");
            return IsolationLevel::repeatable_read;
        }
        expect("read");
        if (take("uncommitted")) return IsolationLevel::read_uncommitted;
        expect("committed");
        return IsolationLevel::read_committed;
    }

    static constexpr V kNone = V::none;

    SqlScanner scanner_;
    SqlToken token_;
    bool failed_ = false;
};

constexpr std::uint32_t fold(std::string_view text) {
    const auto byte = [text](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]) | 0x20);
    };
    return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}

// False for most statements by their first four bytes, without lexing anything: every statement
// of every session passes here.
bool may_be_transaction_statement(std::string_view text) {
    if (text.size() < 4) return true;
    const std::uint32_t start = fold(text);
    if (start < fold("a   ") || start > fold("zzzz")) return true;  // a blank, a comment, odd
    switch (start) {
        case fold("begi"):
        case fold("star"):
        case fold("comm"):
        case fold("roll"):
        case fold("abor"):
        case fold("save"):
        case fold("rele"):
        case fold("prep"): return true;
        default: break;
    }
    const std::uint32_t three = start & 0xffffff00;
    return three == (fold("end ") & 0xffffff00) || three == (fold("set ") & 0xffffff00);
}

}  // namespace

TransactionStatement parse_transaction_statement(std::string_view text) {
    if (!may_be_transaction_statement(text)) return {};
    return StatementParser(text).parse(Ending::whole_text);
}

TransactionVerb first_verb(std::string_view text) {
    if (!may_be_transaction_statement(text)) return V::none;
    return StatementParser(text).parse(Ending::first_statement).verb;
}

}  // namespace pgb

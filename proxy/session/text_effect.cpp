#include "proxy/session/text_effect.h"

#include <algorithm>
#include <array>

#include "protocol/sql_name.h"
#include "protocol/sql_scanner.h"
#include "proxy/session/harmless_words.h"
#include "proxy/session/plain_text.h"

namespace pgb {

namespace {

// First words of statements that leave nothing behind by themselves. What is not among them, and
// not looked at by name, may do anything.
constexpr auto kPlainStatements = std::to_array<std::string_view>(
    {"select",     "insert",  "update",   "delete",   "with",    "values",    "table",
     "merge",      "explain", "copy",     "fetch",    "move",    "close",     "begin",
     "start",      "commit",  "end",      "rollback", "abort",   "savepoint", "release",
     "show",       "lock",    "vacuum",   "analyze",  "reindex", "cluster",   "truncate",
     "alter",      "drop",    "grant",    "revoke",   "comment", "refresh",   "notify",
     "checkpoint", "reset",   "unlisten", "reassign", "security"});

// Those of them that change what other texts may name.
constexpr auto kDefinitions = std::to_array<std::string_view>(
    {"alter", "drop", "grant", "revoke", "reassign", "do", "call", "import"});

// First words of statements that begin or end a transaction or a part of one.
constexpr auto kTransactionWords = std::to_array<std::string_view>(
    {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare"});

// Words behind which `name (` is a list of columns and no call.
constexpr auto kListFollows =
    std::to_array<std::string_view>({"as", "into", "references", "table", "copy"});

template <std::size_t Count>
bool is_any(const SqlToken& token, const std::array<std::string_view, Count>& words) {
    for (const std::string_view word : words) {
        if (token.is(word)) return true;
    }
    return false;
}

bool is_other(const SqlToken& token, char c) {
    return token.kind == SqlTokenKind::other && token.text.size() == 1 && token.text[0] == c;
}

bool is_name(const SqlToken& token) {
    return token.kind == SqlTokenKind::word || token.kind == SqlTokenKind::quoted;
}

// The name a call would look up: without quotes. A quoted name with capitals is nobody's of ours.
std::string_view name_of(const SqlToken& token) {
    if (token.kind == SqlTokenKind::word) return token.text;
    return token.text.substr(1, token.text.size() - 2);
}

// SqlToken::is() knows letters only.
bool names(const SqlToken& token, std::string_view function) {
    if (token.kind != SqlTokenKind::word) return name_of(token) == function;
    return is_in_any_case(token.text, function);
}

// pg_advisory_unlock, and its kin for shared locks and for all.
constexpr std::string_view kUnlock = "pg_advisory_unlock";

constexpr std::string_view kTemporarySchema = "pg_temp";

// pg_temp, and the real name of a backend's own: pg_temp_3.
bool is_temporary_schema(const SqlToken& token) {
    const std::string_view name = name_of(token).substr(0, kTemporarySchema.size());
    return is_in_any_case(name, kTemporarySchema);
}

// A search_path that is given as a literal.
bool mentions_temporary_schema(const SqlToken& token) {
    return token.kind == SqlTokenKind::string &&
           std::search(token.text.begin(), token.text.end(), kTemporarySchema.begin(),
                       kTemporarySchema.end(), [](char written, char lower) {
                           return lower_case(written) == lower;
                       }) != token.text.end();
}

/// Reads one text, statement by statement.
class Reader {
public:
    explicit Reader(std::string_view text) : scanner_(text) {}

    TextEffect read() {
        advance();
        std::size_t statements = 0;
        bool discards_all = false;
        while (token_.kind != SqlTokenKind::end && !broken_) {
            if (token_.kind == SqlTokenKind::semicolon) {
                advance();
                continue;
            }
            ++statements;
            discards_all = read_statement();
        }
        effect_.several = statements > 1;
        effect_.discards_all = statements == 1 && discards_all;
        if (effect_.discards_all) effect_.drops_all_statements = true;
        if (broken_) effect_.resets = effect_.unsure = effect_.defines = true;
        effect_.resets_by_call = calls_ && !effect_.resets;
        effect_.resets = effect_.resets || calls_;
        effect_.pins = effect_.reasons != 0;
        return effect_;
    }

private:
    void advance() {
        before_ = previous_;
        previous_ = token_;
        token_ = scanner_.next();
        // A literal with a backslash ends where standard_conforming_strings says, and what is not
        // terminated ends nowhere: nothing behind either is sure.
        if (token_.kind != SqlTokenKind::other) return;
        if (token_.text.empty()) {
            broken_ = true;
        } else if (token_.text[0] == '\'' || token_.text[0] == '"') {
            effect_.resets = effect_.unsure = true;
        }
    }

    void pin(PinReasons why) { effect_.reasons = static_cast<PinReasons>(effect_.reasons | why); }

    [[nodiscard]] bool at_end() const {
        return token_.kind == SqlTokenKind::end || token_.kind == SqlTokenKind::semicolon ||
               broken_;
    }

    // True for DISCARD ALL.
    bool read_statement() {
        const SqlToken first = token_;
        advance();
        bool discards_all = false;
        bool declares = false;
        if (first.is("execute") || first.is("deallocate") || first.is("prepare")) {
            effect_.names_statement = true;
        }
        sets_ = first.is("set");
        effect_.transactions = effect_.transactions || is_any(first, kTransactionWords);
        updates_ = updates_ || first.is("update");
        explains_ = first.is("explain");
        creates_ = first.is("create");
        effect_.defines = effect_.defines || is_any(first, kDefinitions);
        if (sets_) {
            read_set();
        } else if (first.is("prepare")) {
            read_prepare();
        } else if (first.is("listen")) {
            pin(kPinListen);
        } else if (first.is("load")) {
            pin(kPinSessionState);
        } else if (first.is("reset") || first.is("unlisten")) {
            effect_.of_interest = true;
        } else if (first.is("create")) {
            effect_.defines = true;
            read_create();
        } else if (first.is("declare")) {
            declares = true;
        } else if (first.is("discard")) {
            effect_.forgets_statements = effect_.of_interest = true;
            discards_all = token_.is("all");
        } else if (first.is("deallocate")) {
            effect_.forgets_statements = true;
            read_deallocate();
        } else if (!is_any(first, kPlainStatements) && !is_other(first, '(')) {
            effect_.resets = true;
        }
        while (!at_end()) {
            look_at_token(declares);
            advance();
        }
        return discards_all;
    }

    // PREPARE is a word that may be left out, and a name.
    void read_deallocate() {
        if (token_.is("prepare")) {
            advance();
            if (at_end()) return;
        }
        if (token_.is("all")) effect_.drops_all_statements = true;
    }

    // PREPARE TRANSACTION 'name' ends a block; `transaction` may be a statement's name, too.
    void read_prepare() {
        const bool maybe_end = token_.is("transaction");
        if (maybe_end) advance();
        if (!maybe_end || token_.kind != SqlTokenKind::string) pin(kPinSessionState);
    }

    void read_set() {
        if (token_.is("local") || token_.is("constraints") || token_.is("transaction")) {
            advance();
            // The same words may be the class of a setting: SET local.name = 1.
            if (!is_other(token_, '.')) return;
        }
        pin(kPinSettings);
    }

    void read_create() {
        while (token_.is("or") || token_.is("replace") || token_.is("local") ||
               token_.is("global")) {
            advance();
        }
        if (token_.is("temp") || token_.is("temporary")) pin(kPinSessionState);
    }

    void look_at_token(bool declares) {
        if (declares && token_.is("hold") && previous_.is("with")) pin(kPinSessionState);
        if ((token_.is("temp") || token_.is("temporary")) &&
            (previous_.is("into") || previous_.is("create") || previous_.is("replace") ||
             previous_.is("local") || previous_.is("global"))) {
            pin(kPinSessionState);
        }
        if (sets_ && mentions_temporary_schema(token_)) pin(kPinSessionState);
        if (token_.is("execute") && (explains_ || (creates_ && previous_.is("as")))) {
            effect_.names_statement = true;
        }
        if (!is_name(token_)) return look_at_sign();
        if (is_temporary_schema(token_)) pin(kPinSessionState);
        // An UPDATE of this view is a SET, also inside a WITH.
        if (token_.is("update")) updates_ = true;
        if (updates_ && names(token_, "pg_settings")) pin(kPinSessionState);
        if (!is_other(previous_, '.')) before_chain_ = previous_;
    }

    void look_at_sign() {
        if (is_other(token_, '.') && is_name(previous_)) {
            schema_is_catalog_ = names(previous_, "pg_catalog");
        }
        if (is_other(token_, '(') && is_name(previous_)) look_at_call();
    }

    // token_ is the parenthesis, previous_ the name, before_ what stands before the name.
    void look_at_call() {
        const bool qualified = is_other(before_, '.');
        if (is_any(before_chain_, kListFollows) || is_other(before_chain_, ')')) return;
        if (is_in_any_case(name_of(previous_).substr(0, kUnlock.size()), kUnlock))
            effect_.unlocks = true;
        // A search_path among its arguments counts as that of a SET.
        if (names(previous_, "set_config")) sets_ = true;
        if (is_session_lock(previous_)) {
            pin(kPinLock);
        } else if (names(previous_, "set_config") && !sets_locally()) {
            pin(kPinSettings);
        } else if (qualified && !schema_is_catalog_) {
            calls_ = true;
        } else if (!names(previous_, "set_config") && !is_harmless(previous_)) {
            calls_ = true;
        }
    }

    // A quoted name with capitals is nobody's of PostgreSQL's own.
    static bool is_harmless(const SqlToken& token) {
        const std::string_view name = name_of(token);
        const bool own_spelling =
            token.kind == SqlTokenKind::word ||
            std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
        return own_spelling && is_harmless_before_parenthesis(name);
    }

    static bool is_session_lock(const SqlToken& name) {
        return names(name, "pg_advisory_lock") || names(name, "pg_advisory_lock_shared") ||
               names(name, "pg_try_advisory_lock") || names(name, "pg_try_advisory_lock_shared");
    }

    // Whether the call's third and last argument is the word true: set_config for this
    // transaction only.
    [[nodiscard]] bool sets_locally() const {
        SqlScanner ahead = scanner_;
        SqlToken last;
        SqlToken before_last;
        int commas = 0;
        for (int depth = 1; depth > 0;) {
            const SqlToken token = ahead.next();
            if (token.kind == SqlTokenKind::end || token.text.empty()) return false;
            if (is_other(token, '(')) ++depth;
            if (is_other(token, ')') && --depth == 0) break;
            if (token.kind == SqlTokenKind::comma && depth == 1) ++commas;
            if (mentions_temporary_schema(token)) return false;
            before_last = last;
            last = token;
        }
        return commas == 2 && last.is("true") && before_last.kind == SqlTokenKind::comma;
    }

    SqlScanner scanner_;
    SqlToken token_;
    SqlToken previous_;
    SqlToken before_;
    SqlToken before_chain_;  // what stands before the first part of a dotted name
    TextEffect effect_;
    bool schema_is_catalog_ = false;
    bool sets_ = false;  // the statement is a SET
    bool explains_ = false;
    bool creates_ = false;
    bool updates_ = false;  // an UPDATE stands somewhere before
    bool broken_ = false;
    bool calls_ = false;
};

}  // namespace

TextEffect effect_of(std::string_view text, bool whole) {
    if (whole && is_plain_text(text)) return {};
    TextEffect effect = Reader(text).read();
    if (!whole) effect.resets = effect.unsure = true;
    return effect;
}

}  // namespace pgb

#include "proxy/session/housekeeping_texts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "protocol/ascii.h"
#include "protocol/sql_name.h"
#include "protocol/sql_scanner.h"
#include "protocol/transaction_statement.h"
#include "proxy/session/reset_text.h"
#include "proxy/session/startup_texts.h"
#include "proxy/session/statement_target.h"

namespace pgb {

namespace {

// Longer than any text of ours, however blanked.
constexpr std::size_t kTextMax = 16384;
constexpr std::size_t kSettingTextMax = 1024;
constexpr std::string_view kSelect = "select";

struct ShortText {
    Housekeeping kind;
    std::string_view text;
};

constexpr auto kShortTexts = std::to_array<ShortText>({
    // Pools and frameworks that ask whether a connection lives.
    {Housekeeping::ping, "select 1"},
    {Housekeeping::ping, "select 'x'"},
    // SQLAlchemy, in the block that it opens first.
    {Housekeeping::also_in_virtual_block, "select pg_catalog.version()"},
    {Housekeeping::also_in_virtual_block, "select current_schema()"},
    {Housekeeping::also_in_virtual_block,
     "select t.oid, typarray from pg_type t join pg_namespace ns on typnamespace = ns.oid where "
     "typname = 'hstore'"},
    {Housekeeping::also_in_virtual_block, "show standard_conforming_strings"},
    {Housekeeping::also_in_virtual_block, "show transaction isolation level"},
    // knex, TypeORM, Npgsql.
    {Housekeeping::also_in_virtual_block, "select version()"},
    {Housekeeping::alone, "select * from current_schema()"},
    // pgJDBC.
    {Housekeeping::alone, "select current_catalog"},
    {Housekeeping::alone, "select session_user"},
    // libpq and postgres.js, looking for a server of the wanted kind.
    {Housekeeping::alone, "select pg_catalog.pg_is_in_recovery()"},
    {Housekeeping::alone, "show transaction_read_only; select pg_catalog.pg_is_in_recovery()"},
    // postgres.js.
    {Housekeeping::alone,
     "select b.oid, b.typarray from pg_catalog.pg_type a left join pg_catalog.pg_type b on b.oid = "
     "a.typelem where a.typcategory = 'A' group by b.oid, b.typarray order by b.oid"},
    // asyncpg, for a codec of one type.
    {Housekeeping::alone,
     "select t.oid, t.typelem as elemtype, t.typtype as kind from pg_catalog.pg_type as t inner "
     "join pg_catalog.pg_namespace ns on (ns.oid = t.typnamespace) where t.typname = $1 and "
     "ns.nspname = $2"},
    {Housekeeping::alone,
     "select t.oid, t.typelem as elemtype, t.typtype as kind from pg_catalog.pg_type as t where "
     "t.oid = $1"},
    // ActiveRecord.
    {Housekeeping::alone,
     "select t.oid, t.typname from pg_type as t where t.typname in ('int2', 'int4', 'int8', 'oid', "
     "'float4', 'float8', 'numeric', 'bool', 'timestamp', 'timestamptz')"},
    {Housekeeping::alone,
     "select t.oid, t.typname, t.typelem, t.typdelim, t.typinput, r.rngsubtype, t.typtype, "
     "t.typbasetype from pg_type as t left join pg_range as r on oid = rngtypid where t.typname in "
     "('int2', 'int4', 'int8', 'oid', 'float4', 'float8', 'text', 'varchar', 'char', 'name', "
     "'bpchar', 'bool', 'bit', 'varbit', 'timestamptz', 'date', 'money', 'bytea', 'point', "
     "'hstore', 'json', 'jsonb', 'cidr', 'inet', 'uuid', 'xml', 'tsvector', 'macaddr', 'citext', "
     "'ltree', 'line', 'lseg', 'box', 'path', 'polygon', 'circle', 'time', 'timestamp', 'numeric', "
     "'interval') or t.typtype in ('r', 'e', 'd') or t.typinput = "
     "'array_in(cstring,oid,integer)'::regprocedure or t.typelem != 0"},
});

std::string_view without_ends(std::string_view text) {
    while (!text.empty() && (is_blank(text.back()) || text.back() == ';')) text.remove_suffix(1);
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    return text;
}

/// A text in lower case with single blanks, or a step through one that is not.
class Plain {
public:
    explicit Plain(std::string_view text) : text_(text) {}
    /// NUL: the end.
    char next() {
        if (at_ == text_.size()) return '\0';
        if (!is_blank(text_[at_])) return lower_case(text_[at_++]);
        while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
        return ' ';
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;
};

/// How blanks are written says nothing of what runs, but that a line comment may reach further: then
/// less runs. That of letters may, but no text of ours becomes work by it.
bool is_alike(std::string_view text, std::string_view plain) {
    Plain steps(text);
    return std::all_of(plain.begin(), plain.end(), [&](char c) { return steps.next() == c; }) &&
           steps.next() == '\0';
}

// Where the second word of a text that begins with `select` may be told by its first byte.
constexpr unsigned slot_of(char c) { return static_cast<unsigned char>(c) & 0x7F; }

/// All exact texts, by the first byte of the second word behind SELECT, and the others.
class Table {
public:
    Table() {
        for (const ShortText& one : kShortTexts) add(one.kind, one.text);
        for (const std::string& text : asyncpg_type_queries()) add(Housekeeping::alone, text);
        add(Housekeeping::alone, npgsql_type_query());
    }

    /// `text` has nothing around it and begins with SELECT, in any case.
    [[nodiscard]] Housekeeping find_select(std::string_view text) const {
        std::size_t at = kSelect.size();
        while (at < text.size() && is_blank(text[at])) ++at;
        if (at == text.size() || selects_[slot_of(lower_case(text[at]))].empty()) {
            return Housekeeping::no;
        }
        return find(selects_[slot_of(lower_case(text[at]))], text);
    }
    [[nodiscard]] Housekeeping find_other(std::string_view text) const {
        return find(others_, text);
    }

private:
    struct Entry {
        Housekeeping kind;
        std::string text;
    };

    static Housekeeping find(const std::vector<Entry>& entries, std::string_view text) {
        for (const Entry& entry : entries) {
            if (is_alike(without_ends(text), entry.text)) return entry.kind;
        }
        return Housekeeping::no;
    }

    void add(Housekeeping kind, std::string_view text) {
        std::string plain;
        Plain steps(without_ends(text));
        for (char c = steps.next(); c != '\0'; c = steps.next()) plain += c;
        const bool selects = plain.starts_with(kSelect);
        std::vector<Entry>& list = selects ? selects_[slot_of(plain[kSelect.size() + 1])] : others_;
        list.push_back({kind, std::move(plain)});
    }

    std::array<std::vector<Entry>, 128> selects_;
    std::vector<Entry> others_;
};

const Table& table() {
    static const Table kTable;
    return kTable;
}

bool is_unreadable(const SqlToken& token) {
    return token.kind == SqlTokenKind::other &&
           (token.text.empty() || token.text[0] == '\'' || token.text[0] == '"');
}

// Nothing but SET, SHOW and RESET: none of them can be given anything to compute.
bool only_sets(std::string_view text) {
    if (text.size() > kSettingTextMax) return false;
    SqlScanner scanner(text);
    bool first = true;
    bool any = false;
    for (SqlToken token = scanner.next(); token.kind != SqlTokenKind::end; token = scanner.next()) {
        if (is_unreadable(token)) return false;
        if (token.kind == SqlTokenKind::semicolon) {
            first = true;
        } else if (first) {
            if (!token.is("set") && !token.is("show") && !token.is("reset")) return false;
            first = false;
            any = true;
        }
    }
    return any;
}

Housekeeping setting_or_reset(std::string_view text) {
    if (const Housekeeping exact = table().find_other(text); exact != Housekeeping::no)
        return exact;
    if (ResetText::read(text)) return Housekeeping::alone;
    return only_sets(text) ? Housekeeping::setting : Housekeeping::no;
}

Housekeeping of_deallocate(std::string_view text) {
    const StatementTarget target = read_statement_target(text);
    return target.kind == StatementTarget::Kind::deallocate && target.alone ? Housekeeping::alone
                                                                            : Housekeeping::no;
}

// Of a text that begins with C, D, R or U.
Housekeeping reset_or_end(std::string_view text) {
    if (ResetText::read(text)) return Housekeeping::alone;
    if ((text[0] | 0x20) == 'd' && (text[2] | 0x20) == 'a') return of_deallocate(text);
    const bool prepared_maybe = (text[1] | 0x20) == 'o';
    if (!prepared_maybe || text.size() > kSettingTextMax) {
        return (text[0] | 0x20) == 'r' ? setting_or_reset(text) : Housekeeping::no;
    }
    const TransactionVerb verb = parse_transaction_statement(text).verb;
    return verb == TransactionVerb::commit_prepared || verb == TransactionVerb::rollback_prepared
               ? Housekeeping::alone
               : Housekeeping::no;
}

// Of a text that begins with S.
Housekeeping select_or_setting(std::string_view text) {
    const int second = text[1] | 0x20;
    if (second == 'e' && (text[2] | 0x20) == 'l') {
        const Housekeeping exact = table().find_select(text);
        if (exact != Housekeeping::no) return exact;
        return ResetText::read(text) ? Housekeeping::alone : Housekeeping::no;
    }
    return second == 'h' || second == 'e' ? setting_or_reset(text) : Housekeeping::no;
}

}  // namespace

Housekeeping find_housekeeping(std::string_view text) {
    if (text.size() > kTextMax) return Housekeeping::no;
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    if (text.size() < kSelect.size()) return Housekeeping::no;
    switch (text[0] | 0x20) {
        case 's': return select_or_setting(text);
        case 'w': return table().find_other(text);
        case 'c':
        case 'd':
        case 'r':
        case 'u': return reset_or_end(text);
        default: return Housekeeping::no;
    }
}

}  // namespace pgb

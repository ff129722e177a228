#include "proxy/session/state_tracking_grammar.h"

#include <pg_query.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "protocol/error_response.h"
#include "protocol/sql_name.h"
#include "protocol/sqlstate.h"
#include "proxy/session/harmless_words.h"

namespace pgb {

namespace {

using Json = nlohmann::json;

const Json kNothing;

const Json& at(const Json& object, const char* key) {
    if (!object.is_object()) return kNothing;
    const auto found = object.find(key);
    return found == object.end() ? kNothing : *found;
}

std::string_view text_at(const Json& object, const char* key) {
    const Json& value = at(object, key);
    return value.is_string() ? std::string_view(value.get_ref<const std::string&>())
                             : std::string_view();
}

bool flag_at(const Json& object, const char* key) {
    const Json& value = at(object, key);
    return value.is_boolean() && value.get<bool>();
}

// Each part of a dotted name by itself, as `SET "a.b"` is not `SET a.b` to the grammar.
std::string quoted_name(std::string_view name) {
    std::string text = "\"";
    for (const char c : name) {
        if (c == '"') text += c;
        text += c == '.' ? std::string("\".\"") : std::string(1, c);
    }
    return text += '"';
}

// The tree has no value for integers that are not positive: they are read where they stand.
std::optional<std::string> integer_at(std::string_view text, const Json& location) {
    if (!location.is_number_integer()) return std::nullopt;
    const auto begin = static_cast<std::size_t>(location.get<std::int64_t>());
    if (begin >= text.size()) return std::nullopt;
    const bool negative = text[begin] == '-';
    const std::size_t digits = text.find_first_not_of(" \t\r\n", negative ? begin + 1 : begin);
    const std::size_t end = std::min(text.find_first_not_of("0123456789", digits), text.size());
    if (digits >= end) return std::nullopt;
    if (end < text.size() && std::string_view(" \t\r\n;,").find(text[end]) == text.npos) {
        return std::nullopt;
    }
    return (negative ? "-" : "") + std::string(text.substr(digits, end - digits));
}

// A constant behind SET, as the grammar reads it back to the same value.
std::optional<std::string> constant(std::string_view text, const Json& node) {
    const Json& literal = at(node, "A_Const");
    if (!literal.is_object() || flag_at(literal, "isnull")) return std::nullopt;
    if (literal.contains("sval")) return quoted_literal(text_at(at(literal, "sval"), "sval"));
    if (literal.contains("fval")) return std::string(text_at(at(literal, "fval"), "fval"));
    if (!literal.contains("ival")) return std::nullopt;
    const Json& number = at(at(literal, "ival"), "ival");
    if (number.is_number_integer()) return std::to_string(number.get<std::int64_t>());
    return integer_at(text, at(literal, "location"));
}

/// Reads one parse tree.
class Reader {
public:
    Reader(std::string_view text, GrammarVerdict& verdict) : text_(text), verdict_(verdict) {}

    void read(const Json& tree) {
        const Json& statements = at(tree, "stmts");
        for (const Json& statement : statements) read_statement(at(statement, "stmt"));
        walk(statements);
        // What a function was asked to set elsewhere than in a plain SELECT.
        if (set_config_calls_ != set_config_followed_) verdict_.followed = false;
        if (ends_transactions_ && !verdict_.changes.empty()) verdict_.followed = false;
        // No text with parameters has more than one statement; what has both fails.
        if (statements.size() > 1 && !verdict_.calls_to_bind.empty()) verdict_.followed = false;
        if (!verdict_.followed) {
            verdict_.changes.clear();
            verdict_.calls_to_bind = {};
        }
        verdict_.undoes = statements.size() == 1 && verdict_.changes.size() == 1 &&
                          verdict_.changes[0].kind != SettingChange::Kind::set;
    }

private:
    void read_statement(const Json& statement) {
        if (!statement.is_object() || statement.empty()) return;
        const std::string& kind = statement.begin().key();
        const Json& body = statement.begin().value();
        if (kind == "VariableSetStmt") return read_set(body);
        if (kind == "SelectStmt") return read_select(body);
        if (kind == "TransactionStmt") ends_transactions_ = true;
        if (kind == "UnlistenStmt" && text_at(body, "conditionname").empty()) {
            verdict_.unlistens = true;
        }
        if (kind == "DiscardStmt" && text_at(body, "target") == "DISCARD_ALL") {
            verdict_.changes.push_back({SettingChange::Kind::discard_all, {}, {}});
        }
    }

    void read_set(const Json& body) {
        if (flag_at(body, "is_local")) return;
        const std::string_view kind = text_at(body, "kind");
        if (kind == "VAR_RESET_ALL") {
            verdict_.changes.push_back({SettingChange::Kind::reset_all, {}, {}});
            return;
        }
        if (kind == "VAR_SET_MULTI") return read_characteristics(body);
        const std::string name = setting_name(text_at(body, "name"));
        if (!can_be_followed(name)) {
            verdict_.followed = false;
        } else if (kind == "VAR_RESET" || kind == "VAR_SET_DEFAULT") {
            verdict_.changes.push_back({SettingChange::Kind::reset, name, {}});
        } else if (kind == "VAR_SET_VALUE") {
            read_values(name, at(body, "args"));
        } else {
            verdict_.followed = false;
        }
    }

    void read_values(const std::string& name, const Json& arguments) {
        std::string text = "SET " + quoted_name(name) + " TO ";
        bool first = true;
        for (const Json& argument : arguments) {
            const std::optional<std::string> value = constant(text_, argument);
            if (!value) {
                verdict_.followed = false;
                return;
            }
            text += (std::exchange(first, false) ? "" : ", ") + *value;
        }
        if (first) {
            verdict_.followed = false;
            return;
        }
        verdict_.changes.push_back({SettingChange::Kind::set, name, std::move(text)});
    }

    // SET SESSION CHARACTERISTICS sets the defaults of transactions to come; SET TRANSACTION has
    // the same form and ends with its own.
    void read_characteristics(const Json& body) {
        const std::string_view name = text_at(body, "name");
        if (name == "TRANSACTION" || name == "TRANSACTION SNAPSHOT") return;
        if (name != "SESSION CHARACTERISTICS") {
            verdict_.followed = false;
            return;
        }
        for (const Json& argument : at(body, "args")) {
            const Json& element = at(argument, "DefElem");
            const Json& value = at(at(element, "arg"), "A_Const");
            const std::string setting = "default_" + std::string(text_at(element, "defname"));
            // READ ONLY and DEFERRABLE are numbers, of which 0 is left out.
            const std::string text = value.contains("sval")
                                         ? quoted_literal(text_at(at(value, "sval"), "sval"))
                                     : at(at(value, "ival"), "ival").is_number() ? "'on'"
                                                                                 : "'off'";
            verdict_.changes.push_back(
                {SettingChange::Kind::set, setting, "SET " + quoted_name(setting) + " TO " + text});
        }
    }

    // A SELECT of calls of set_config() and nothing around them, so that each runs once.
    void read_select(const Json& body) {
        for (const auto& part : body.items()) {
            if (part.key() != "targetList" && part.key() != "limitOption" && part.key() != "op") {
                return;
            }
        }
        std::vector<SetConfigCall> calls;
        for (const Json& target : at(body, "targetList")) {
            const Json& call = at(at(at(target, "ResTarget"), "val"), "FuncCall");
            if (!call.is_object() || !is_set_config(call)) return;
            if (sets_locally(call)) continue;
            const std::optional<SetConfigCall> read = read_call(at(call, "args"));
            if (!read) return;
            calls.push_back(*read);
        }
        set_config_followed_ += static_cast<int>(calls.size());
        note_calls(std::move(calls));
    }

    // Values that are parameters are not known before the statement is bound.
    void note_calls(std::vector<SetConfigCall> calls) {
        if (std::any_of(calls.begin(), calls.end(),
                        [](const SetConfigCall& call) { return call.has_parameters(); })) {
            verdict_.calls_to_bind = SetConfigCalls(std::move(calls));
            return;
        }
        for (const SetConfigCall& call : calls) {
            if (call.local.literal == "on") continue;
            verdict_.changes.push_back(
                set_config_change(setting_name(call.name.literal), call.value.literal));
        }
    }

    static std::optional<SetConfigCall> read_call(const Json& arguments) {
        if (arguments.size() != 3) return std::nullopt;
        const auto name = read_argument(arguments[0], false);
        const auto value = read_argument(arguments[1], false);
        const auto local = read_argument(arguments[2], true);
        if (!name || !value || !local) return std::nullopt;
        if (name->parameter == 0 && !can_be_followed(setting_name(name->literal))) {
            return std::nullopt;
        }
        return SetConfigCall{*name, *value, *local};
    }

    // A literal or a parameter, maybe with a cast to what it is anyway.
    static std::optional<SetConfigCall::Argument> read_argument(const Json& node, bool is_bool) {
        const Json& cast = at(node, "TypeCast");
        if (cast.is_object() && !is_plain_cast(at(cast, "typeName"), is_bool)) return std::nullopt;
        const Json& inner = cast.is_object() ? at(cast, "arg") : node;
        const Json& parameter = at(at(inner, "ParamRef"), "number");
        if (parameter.is_number_unsigned() || parameter.is_number_integer()) {
            const auto number = parameter.get<std::int64_t>();
            if (number < 1 || number > std::numeric_limits<std::uint16_t>::max()) {
                return std::nullopt;
            }
            return SetConfigCall::Argument{static_cast<std::uint16_t>(number), {}};
        }
        const Json& literal = at(inner, "A_Const");
        const Json& value = at(literal, is_bool ? "boolval" : "sval");
        if (!value.is_object() || flag_at(literal, "isnull")) return std::nullopt;
        if (is_bool) return SetConfigCall::Argument{0, flag_at(value, "boolval") ? "on" : "off"};
        return SetConfigCall::Argument{0, std::string(text_at(value, "sval"))};
    }

    // A type with a length would cut what it is given.
    static bool is_plain_cast(const Json& type, bool is_bool) {
        if (type.contains("typmods") || type.contains("arrayBounds")) return false;
        const Json& parts = at(type, "names");
        if (!parts.is_array() || parts.empty() || parts.size() > 2) return false;
        if (parts.size() == 2 && text_at(at(parts[0], "String"), "sval") != "pg_catalog") {
            return false;
        }
        const std::string_view name = text_at(at(parts.back(), "String"), "sval");
        return is_bool ? name == "bool" : name == "text" || name == "varchar";
    }

    static std::string_view function_name(const Json& call) {
        const Json& parts = at(call, "funcname");
        if (!parts.is_array() || parts.empty() || parts.size() > 2) return {};
        if (parts.size() == 2 && text_at(at(parts[0], "String"), "sval") != "pg_catalog") return {};
        return text_at(at(parts.back(), "String"), "sval");
    }

    static bool is_set_config(const Json& call) { return function_name(call) == "set_config"; }

    static bool sets_locally(const Json& call) {
        const Json& arguments = at(call, "args");
        return arguments.size() == 3 &&
               flag_at(at(at(arguments[2], "A_Const"), "boolval"), "boolval");
    }

    void look_at_call(const Json& call) {
        const std::string_view name = function_name(call);
        if (name == "set_config") {
            if (!sets_locally(call)) ++set_config_calls_;
            return;
        }
        // A name with capitals was quoted, and is nobody's of ours.
        const bool known = is_harmless_before_parenthesis(name) && lower_case(name) == name;
        // Those that take a lock of the session pin it by their name.
        const bool lock = name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_");
        if (name.empty() || (!known && !lock)) verdict_.calls = true;
    }

    void walk(const Json& root) {
        std::vector<const Json*> rest{&root};
        while (!rest.empty()) {
            const Json& node = *rest.back();
            rest.pop_back();
            if (!node.is_structured()) continue;
            if (node.is_object()) {
                const Json& call = at(node, "FuncCall");
                if (call.is_object()) look_at_call(call);
                // A method of sampling is a function, too.
                if (node.contains("RangeTableSample")) verdict_.calls = true;
            }
            for (const Json& child : node) rest.push_back(&child);
        }
    }

    std::string_view text_;
    GrammarVerdict& verdict_;
    int set_config_calls_ = 0;
    int set_config_followed_ = 0;
    bool ends_transactions_ = false;
};

}  // namespace

GrammarVerdict judge_by_grammar(const std::string& text) {
    GrammarVerdict verdict;
    const PgQueryParseResult result = pg_query_parse(text.c_str());
    if (result.error == nullptr && result.parse_tree != nullptr) {
        // A tree with bytes that are no UTF-8 can't be read; then nothing is known of the text.
        const Json tree = Json::parse(result.parse_tree, nullptr, false);
        if (!tree.is_discarded()) {
            verdict.parsed = true;
            Reader(text, verdict).read(tree);
        }
    }
    pg_query_free_parse_result(result);
    return verdict;
}

bool append_syntax_error(const std::string& text, std::string& reply) {
    const PgQueryParseResult result = pg_query_parse(text.c_str());
    bool appended = false;
    if (result.error != nullptr && result.error->message != nullptr) {
        const std::string_view message = result.error->message;
        // What the grammar says itself; what it merely checks has codes of other kinds.
        appended = message.find(" at or near \"") != message.npos ||
                   message.find(" at end of input") != message.npos;
        const std::string position = std::to_string(result.error->cursorpos);
        if (appended) {
            append_error(
                reply,
                {.sqlstate = sqlstate::kSyntaxError, .message = message, .position = position});
        }
    }
    pg_query_free_parse_result(result);
    return appended;
}

}  // namespace pgb

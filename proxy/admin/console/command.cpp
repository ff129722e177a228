#include "proxy/admin/console/command.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "protocol/sql_name.h"
#include "protocol/sqlstate.h"
#include "proxy/admin/console/lexer.h"

namespace pgb {

namespace {

constexpr std::string_view kSeeHelp = "SHOW HELP lists what there is.";

constexpr std::array<std::string_view, 11> kViewWords = {"workloads", "holders", "waiters", "pools",
                                                         "backends",  "clients", "pins",    "stats",
                                                         "config",    "version", "help"};

constexpr std::array<std::string_view, 9> kVerbWords = {
    "show", "pause", "resume", "reload", "drain", "kill", "cancel", "set", "select"};

/// Statements that drivers and pools send unasked; none of them means anything here.
constexpr std::array<std::string_view, 7> kAcceptedWords = {
    "set", "reset", "discard", "deallocate", "unlisten", "close", "listen"};

/// Reads one statement, up to its semicolon or the end.
class Reader {
public:
    Reader(std::string_view text, Suggest suggest) : text_(text), lexer_(text), suggest_(suggest) {
        advance();
    }

    [[nodiscard]] bool at_end() const { return token_.kind == ConsoleTokenKind::end; }
    /// False: fault() says why.
    bool read(ConsoleCommand& command);
    [[nodiscard]] ConsoleFault& fault() { return fault_; }

private:
    void advance() {
        begin_ = lexer_.at();
        token_ = lexer_.next();
    }
    [[nodiscard]] bool at_statement_end() const { return at_end() || token_.is_symbol(';'); }
    [[nodiscard]] std::string upper_word() const;
    bool fail(std::string_view sqlstate, std::string message, std::string hint = {});
    bool fail_at_token();
    bool fail_unknown(std::string message, std::string_view word,
                      std::span<const std::string_view> candidates);
    bool read_show(ConsoleCommand& command);
    bool read_setting(ConsoleCommand& command);
    bool read_select(ConsoleCommand& command);
    bool read_set(ConsoleCommand& command);
    bool read_values(ConsoleCommand& command);
    bool read_client(ConsoleCommand& command, ConsoleVerb verb);
    bool read_database(ConsoleCommand& command, ConsoleVerb verb);
    bool read_bare(ConsoleCommand& command, ConsoleVerb verb);
    bool read_accepted(ConsoleCommand& command);
    bool read_transaction(ConsoleCommand& command);
    bool skip_statement();
    bool end_statement();

    std::string_view text_;
    ConsoleLexer lexer_;
    Suggest suggest_;
    ConsoleToken token_;
    std::size_t begin_ = 0;  // of the token, or the blanks before it
    ConsoleFault fault_;
};

std::string Reader::upper_word() const {
    std::string word = token_.text;
    std::transform(word.begin(), word.end(), word.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return word;
}

bool Reader::fail(std::string_view sqlstate, std::string message, std::string hint) {
    fault_ = {std::string(sqlstate), std::move(message), {}, std::move(hint)};
    return false;
}

bool Reader::fail_at_token() {
    if (token_.kind == ConsoleTokenKind::broken) {
        return fail(sqlstate::kSyntaxError, "a quote or a comment does not end");
    }
    if (at_end()) {
        return fail(sqlstate::kSyntaxError, "syntax error at end of input", std::string(kSeeHelp));
    }
    return fail(sqlstate::kSyntaxError, "syntax error at or near \"" + shown(token_.text) + '"',
                std::string(kSeeHelp));
}

bool Reader::fail_unknown(std::string message, std::string_view word,
                          std::span<const std::string_view> candidates) {
    const std::string meant = suggest_(word, candidates);
    std::string hint = meant.empty() ? "" : "Did you mean " + meant + "? ";
    return fail(sqlstate::kSyntaxError, std::move(message), hint + std::string(kSeeHelp));
}

// The semicolon is left for the next statement to skip.
bool Reader::end_statement() { return at_statement_end() || fail_at_token(); }

bool Reader::skip_statement() {
    while (!at_statement_end() && token_.kind != ConsoleTokenKind::broken) advance();
    return end_statement();
}

bool Reader::read_show(ConsoleCommand& command) {
    advance();
    for (std::size_t i = 0; i < kViewWords.size(); ++i) {
        if (!token_.is(kViewWords[i])) continue;
        advance();
        command.verb = ConsoleVerb::show;
        command.view = static_cast<ConsoleView>(i);
        command.tag = "SHOW";
        const Columns columns = columns_of(command.view);
        command.columns.assign(columns.begin(), columns.end());
        return end_statement();
    }
    return read_setting(command);
}

bool Reader::read_setting(ConsoleCommand& command) {
    if (!token_.is_value()) return fail_at_token();
    const std::string written = token_.text;
    std::string name = lower_case(written);
    advance();
    // SHOW TRANSACTION ISOLATION LEVEL, SHOW TIME ZONE.
    while (token_.kind == ConsoleTokenKind::word) {
        name += '_' + lower_case(token_.text);
        advance();
    }
    std::optional<std::string> value = setting_value(name);
    if (!value) {
        return fail_unknown("there is nothing to show by the name \"" + shown(written) + '"',
                            written, kViewWords);
    }
    command.verb = ConsoleVerb::constant;
    command.tag = "SHOW";
    command.columns = {{"setting", ColumnType::text}};
    command.value = std::move(*value);
    return end_statement();
}

bool Reader::read_select(ConsoleCommand& command) {
    advance();
    std::string expression;
    while (!at_statement_end()) {
        if (token_.kind == ConsoleTokenKind::broken) return fail_at_token();
        const bool is_quoted = token_.kind == ConsoleTokenKind::quoted;
        expression += is_quoted ? "'" + token_.text + "'" : lower_case(token_.text);
        advance();
    }
    auto found = selected_value(expression);
    if (!found) {
        return fail(sqlstate::kFeatureNotSupported, "the console does not serve queries",
                    std::string(kSeeHelp));
    }
    command.verb = ConsoleVerb::constant;
    command.tag = "SELECT 1";
    command.columns = {found->first};
    command.value = std::move(found->second);
    return true;
}

bool Reader::read_set(ConsoleCommand& command) {
    command.tag = "SET";
    advance();
    if (!token_.is("workload")) {
        command.verb = ConsoleVerb::accepted;
        return skip_statement();
    }
    advance();
    if (!token_.is_value()) return fail_at_token();
    command.verb = ConsoleVerb::set_workload;
    command.name = token_.text;
    advance();
    return read_values(command);
}

bool Reader::read_values(ConsoleCommand& command) {
    for (;;) {
        if (!token_.is_value()) return fail_at_token();
        std::string key = lower_case(token_.text);
        advance();
        if (token_.is_symbol('=') || token_.is("to")) advance();
        if (!token_.is_value()) return fail_at_token();
        command.values.emplace_back(std::move(key), token_.text);
        advance();
        if (at_statement_end()) return true;
        if (!token_.is_symbol(',')) return fail_at_token();
        advance();
    }
}

bool Reader::read_client(ConsoleCommand& command, ConsoleVerb verb) {
    command.verb = verb;
    command.tag = upper_word();
    advance();
    const std::string& digits = token_.text;
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, command.client);
    if (!token_.is_value() || read.ec != std::errc() || read.ptr != end) {
        return fail(sqlstate::kSyntaxError, command.tag + " needs the number of a client",
                    "SHOW CLIENTS lists them, in the column id.");
    }
    advance();
    return end_statement();
}

bool Reader::read_database(ConsoleCommand& command, ConsoleVerb verb) {
    command.verb = verb;
    command.tag = upper_word();
    advance();
    if (token_.is_symbol('*')) {
        command.name = "*";
        advance();
    } else if (token_.is_value()) {
        command.name = token_.text;
        advance();
    }
    return end_statement();
}

bool Reader::read_bare(ConsoleCommand& command, ConsoleVerb verb) {
    command.verb = verb;
    command.tag = upper_word();
    advance();
    return end_statement();
}

bool Reader::read_accepted(ConsoleCommand& command) {
    command.verb = ConsoleVerb::accepted;
    command.tag = upper_word();
    if (token_.is("close")) command.tag = "CLOSE CURSOR ALL";
    advance();
    const bool is_all = token_.is("all");
    if (is_all && (command.tag == "DISCARD" || command.tag == "DEALLOCATE")) command.tag += " ALL";
    return skip_statement();
}

bool Reader::read_transaction(ConsoleCommand& command) {
    const std::size_t from = begin_;
    skip_statement();
    const std::string_view statement = text_.substr(from, begin_ - from);
    command.verb = ConsoleVerb::transaction;
    command.transaction = parse_transaction_statement(statement).verb;
    command.tag = command_tag(command.transaction);
    if (command.transaction != TransactionVerb::none) return true;
    return fail(sqlstate::kSyntaxError, "this form of a transaction statement is not known here");
}

bool Reader::read(ConsoleCommand& command) {
    while (token_.is_symbol(';')) advance();
    if (at_end()) return true;
    if (token_.is("show")) return read_show(command);
    if (token_.is("select")) return read_select(command);
    if (token_.is("pause")) return read_database(command, ConsoleVerb::pause);
    if (token_.is("resume")) return read_database(command, ConsoleVerb::resume);
    if (token_.is("reload")) return read_bare(command, ConsoleVerb::reload);
    if (token_.is("drain")) return read_bare(command, ConsoleVerb::drain);
    if (token_.is("kill")) return read_client(command, ConsoleVerb::kill);
    if (token_.is("cancel")) return read_client(command, ConsoleVerb::cancel);
    for (const std::string_view word :
         {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"}) {
        if (token_.is(word)) return read_transaction(command);
    }
    if (token_.is("set")) return read_set(command);
    for (const std::string_view word : kAcceptedWords) {
        if (token_.is(word)) return read_accepted(command);
    }
    if (token_.kind != ConsoleTokenKind::word) return fail_at_token();
    return fail_unknown("the console does not know the command \"" + shown(token_.text) + '"',
                        token_.text, kVerbWords);
}

}  // namespace

ConsoleScript parse_console(std::string_view text, Suggest suggest) {
    // More than anybody types; a driver's pipeline has them one by one.
    constexpr std::size_t kCommandsMax = 100;
    ConsoleScript script;
    Reader reader(text, suggest);
    while (!reader.at_end()) {
        ConsoleCommand command;
        if (!reader.read(command)) {
            return {{}, std::move(reader.fault())};
        }
        if (command.verb == ConsoleVerb::nothing) break;
        if (script.commands.size() == kCommandsMax) {
            return {{},
                    ConsoleFault{std::string(sqlstate::kProgramLimitExceeded),
                                 "more than 100 commands in one text"}};
        }
        script.commands.push_back(std::move(command));
    }
    return script;
}

}  // namespace pgb

#include "tests/support/load/script.h"

#include <charconv>

#include "tests/support/load/wire.h"

namespace pgb::load {
namespace {

constexpr std::string_view kSeparator = "|||";
constexpr std::string_view kRandom = ":rnd(";

std::string_view trim(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r";
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> split_statements(std::string_view text) {
    std::vector<std::string> statements;
    for (;;) {
        const std::size_t at = text.find(kSeparator);
        statements.emplace_back(trim(text.substr(0, at)));
        if (at == std::string_view::npos) return statements;
        text.remove_prefix(at + kSeparator.size());
    }
}

std::string fill_in(std::string_view text, std::mt19937_64& random) {
    std::string result;
    for (;;) {
        const std::size_t at = text.find(kRandom);
        result.append(text.substr(0, at));
        if (at == std::string_view::npos) return result;
        text.remove_prefix(at + kRandom.size());
        std::uint64_t limit = 0;
        std::from_chars(text.data(), text.data() + text.size(), limit);
        const std::size_t end = text.find(')');
        if (limit == 0 || end == std::string_view::npos) return result.append(kRandom).append(text);
        result.append(std::to_string(1 + random() % limit));
        text.remove_prefix(end + 1);
    }
}

Result<Step> parse_step(std::string_view line) {
    const std::size_t blank = line.find(' ');
    const std::string_view word = line.substr(0, blank);
    Step step;
    if (word == "simple") {
        step.kind = StepKind::simple;
    } else if (word == "pipelined") {
        step.kind = StepKind::pipelined;
    } else if (word == "extended") {
        step.kind = StepKind::extended;
    } else {
        return Error{"unknown kind of step: " + std::string(word)};
    }
    if (blank == std::string_view::npos) return Error{"a step without a statement"};
    step.statements = split_statements(line.substr(blank + 1));
    if (step.kind == StepKind::simple && step.statements.size() > 1) {
        return Error{"a simple step has one statement"};
    }
    return step;
}

}  // namespace

Framed frame(const Step& step, std::mt19937_64& random) {
    Framed framed;
    for (const std::string& statement : step.statements) {
        const std::string sql = fill_in(statement, random);
        if (step.kind == StepKind::extended) {
            frontend::parse_bind_execute(framed.bytes, sql);
        } else {
            frontend::query(framed.bytes, sql);
            ++framed.ready_count;
        }
    }
    if (step.kind == StepKind::extended) {
        frontend::sync(framed.bytes);
        framed.ready_count = 1;
    }
    return framed;
}

Result<Script> parse_script(std::string_view text) {
    Script script;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = trim(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (line.empty() || line.starts_with('#')) continue;
        Result<Step> step = parse_step(line);
        if (!step) return step.error();
        script.push_back(std::move(*step));
    }
    if (script.empty()) return Error{"the script has no step"};
    return script;
}

}  // namespace pgb::load

#include "proxy/session/reset_text.h"

#include <algorithm>

#include "protocol/sql_name.h"
#include "protocol/sql_scanner.h"
#include "proxy/session/housekeeping_texts.h"

namespace pgb {

namespace {

constexpr std::size_t kWordsMax = 5;

/// One statement: its words and signs in lower case, and what PostgreSQL calls it.
struct Known {
    Reset reset;
    std::string_view tag;
    std::array<std::string_view, kWordsMax> words;
};

constexpr auto kKnown = std::to_array<Known>({
    {Reset::close_all, "CLOSE CURSOR ALL", {"close", "all"}},
    {Reset::unlisten_all, "UNLISTEN", {"unlisten", "*"}},
    {Reset::reset_all, "RESET", {"reset", "all"}},
    {Reset::authorization, "SET", {"set", "session", "authorization", "default"}},
    {Reset::authorization_by_reset, "RESET", {"reset", "session", "authorization"}},
    {Reset::role, "RESET", {"reset", "role"}},
    {Reset::deallocate_all, "DEALLOCATE ALL", {"deallocate", "all"}},
    {Reset::deallocate_all, "DEALLOCATE ALL", {"deallocate", "prepare", "all"}},
    {Reset::discard_all, "DISCARD ALL", {"discard", "all"}},
    {Reset::discard_plans, "DISCARD PLANS", {"discard", "plans"}},
    {Reset::discard_sequences, "DISCARD SEQUENCES", {"discard", "sequences"}},
    {Reset::discard_temp, "DISCARD TEMP", {"discard", "temp"}},
    {Reset::discard_temp, "DISCARD TEMP", {"discard", "temporary"}},
    {Reset::unlock_all, "SELECT 1", {"select", "pg_advisory_unlock_all", "(", ")"}},
});

bool is_written(const SqlToken& token, std::string_view word) {
    if (word.empty()) return false;
    if (token.kind == SqlTokenKind::other) return token.text == word;
    return token.kind == SqlTokenKind::word && is_in_any_case(token.text, word);
}

std::optional<Reset> find(std::span<const SqlToken> tokens) {
    for (const Known& known : kKnown) {
        std::size_t at = 0;
        while (at < tokens.size() && at < kWordsMax && is_written(tokens[at], known.words[at]))
            ++at;
        if (at == tokens.size() && (at == kWordsMax || known.words[at].empty())) return known.reset;
    }
    return std::nullopt;
}

}  // namespace

std::string_view tag_of(Reset reset) {
    const auto* known = std::find_if(kKnown.begin(), kKnown.end(),
                                     [reset](const Known& one) { return one.reset == reset; });
    return known->tag;
}

std::optional<ResetText> ResetText::read(std::string_view text) {
    if (text.size() > kTextMax || !may_be_housekeeping(text)) return std::nullopt;
    SqlScanner scanner(text);
    ResetText found;
    std::array<SqlToken, kWordsMax> tokens{};
    std::size_t count = 0;
    for (bool ended = false; !ended;) {
        const SqlToken token = scanner.next();
        ended = token.kind == SqlTokenKind::end;
        if (!ended && token.kind != SqlTokenKind::semicolon) {
            if (count == kWordsMax) return std::nullopt;
            tokens[count++] = token;
            continue;
        }
        if (count == 0) continue;
        const std::optional<Reset> reset = find({tokens.data(), count});
        if (!reset || found.count_ == kStepsMax) return std::nullopt;
        found.steps_[found.count_++] = *reset;
        count = 0;
    }
    const auto steps = found.steps();
    const bool discards = std::find(steps.begin(), steps.end(), Reset::discard_all) != steps.end();
    if (steps.empty() || (discards && steps.size() > 1)) return std::nullopt;
    return found;
}

}  // namespace pgb

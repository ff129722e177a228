#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/session/state_tracking.h"
#include "proxy/session/state_tracking_grammar.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb;
using fuzz::require;

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
}

// What the proxy writes to set a name again is one statement that sets this name and does nothing
// else: it is sent to PostgreSQL in a session's name.
void check_change(const SettingChange& change) {
    require(change.name.size() == setting_name(change.name).size());
    if (change.kind != SettingChange::Kind::set) return;
    const GrammarVerdict again = judge_by_grammar(change.text);
    require(again.parsed && again.followed && again.changes.size() == 1);
    require(again.changes[0].kind == SettingChange::Kind::set);
    require(again.changes[0].name == change.name && again.changes[0].text == change.text);
}

}  // namespace

// The first byte divides the input into a statement and the body of its Bind.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::string text(fuzz::take(input, data[0]));
    const std::string bind(input);
    StateTracking tracking;
    const TextEffect effect = tracking.effect_of(text, true);
    if (effect.settings) {
        for (const SettingChange& change : tracking.changes_of(text)) check_change(change);
    }
    if (effect.sets_when_bound) {
        SetConfigCalls calls = tracking.calls_of(text);
        calls.declare({});
        const auto changes = calls.bind(bind, true);
        if (changes) {
            for (const SettingChange& change : *changes) {
                // PostgreSQL looks at a parameter's encoding itself, and refuses what the grammar
                // here does not read either.
                if (is_ascii(change.text)) check_change(change);
            }
        }
    }
    std::string reply;
    if (append_syntax_error(text, reply)) require(!judge_by_grammar(text).parsed);
    return 0;
}

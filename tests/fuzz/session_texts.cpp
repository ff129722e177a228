#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/session/housekeeping_texts.h"
#include "proxy/session/plain_text.h"
#include "proxy/session/reset_text.h"
#include "proxy/session/rowless_text.h"
#include "proxy/session/statement_target.h"
#include "proxy/session/text_effect.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pgb;
using fuzz::require;

// Declares as many parameters as there are, so that the text alone decides.
void check_rowless(const std::string& text) {
    const std::string types(4 * 8, '\1');
    ParseRequest parse;
    parse.text = text;
    parse.types = types;
    parse.parameter_type_count = 8;
    const auto found = types_if_rowless(parse);
    if (found) require(*found == types);
}

}  // namespace

// The readers of statement texts do not contradict each other: what one calls plain, no other fears.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const TextEffect effect = effect_of(text, true);
    const TextEffect beginning = effect_of(text, false);
    require(effect.pins == (effect.reasons != 0));
    // Of a text that was not seen whole everything must be feared that its beginning shows.
    require(beginning.resets);
    if (is_plain_text(text)) require(!effect.pins && !effect.resets && !effect.forgets_statements);

    if (const auto reset = ResetText::read(text)) {
        require(!reset->steps().empty() && reset->steps().size() <= ResetText::kStepsMax);
        for (const Reset step : reset->steps()) require(!tag_of(step).empty());
        require(!is_plain_text(text));
    }
    if (!may_be_housekeeping(text)) require(find_housekeeping(text) == Housekeeping::no);

    const StatementTarget target = read_statement_target(text);
    if (target.kind == StatementTarget::Kind::discard_all)
        require(effect.drops_all_statements || !target.alone);
    for (const std::string& name : read_later_targets(text)) require(name.size() <= size);
    check_rowless(text);
    return 0;
}

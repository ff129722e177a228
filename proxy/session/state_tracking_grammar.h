#pragma once

#include <string>
#include <vector>

#include "proxy/session/set_config_calls.h"
#include "proxy/session/setting_change.h"

namespace pgb {

/// What PostgreSQL's own grammar says of a text.
struct GrammarVerdict {
    /// False: it is not of this grammar's version, or none of any; nothing below is true.
    bool parsed = false;
    /// `changes` or `calls_to_bind` is all that the text does to the settings of its session, in order.
    bool followed = true;
    /// It calls a function that is not known to be harmless.
    bool calls = false;
    /// UNLISTEN *
    bool unlistens = false;
    /// A single statement that is a RESET in some form, or DISCARD ALL.
    bool undoes = false;
    std::vector<SettingChange> changes;
    /// In place of `changes`: what it does is known when its parameters are.
    SetConfigCalls calls_to_bind;
};

/// Costs microseconds, up to a few hundred for a long text; the caller bounds its length, which
/// bounds the depth of what is nested in it. Leaves no memory behind, also of a text in error.
[[nodiscard]] GrammarVerdict judge_by_grammar(const std::string& text);

/// PostgreSQL reads a text to its end before anything else, so this error of it comes first. False:
/// the text has none, or one that is not of the grammar alone, and nothing was appended.
bool append_syntax_error(const std::string& text, std::string& reply);

}  // namespace pgb

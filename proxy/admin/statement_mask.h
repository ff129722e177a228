#pragma once

#include <string>
#include <string_view>

namespace pgb {

/// A statement text as people may see it: every literal is `?`, comments are gone, and of a
/// statement that is not plain DML only the verb is left, as passwords stand in the middle of those.
/// Parameters (`$1`), names and operators stay as they are.
///
///     select * from t where a = 'x' and b > 1.5  ->  select * from t where a = ? and b > ?
///     alter role app password 'x'                ->  ALTER ...
///
/// Read by a lexer and not by the grammar: the grammar's own normaliser fails on a text that was
/// cut off, leaves comments, and does not look into utility statements. Where the lexer can't be
/// sure what is a literal (a backslash in a plain one, a quote that does not end) the text ends
/// there with `...`, and so does a text that is not `whole`. Pure; safe on any thread.
std::string mask_statement(std::string_view text, bool whole);

}  // namespace pgb

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pgb {

/// The errors about prepared statements that the proxy tells in PostgreSQL's stead, as complete
/// ErrorResponse messages. They name the routine that raises them there: postgres.js, pgJDBC and
/// ActiveRecord decide by it whether they prepare the statement anew or give the error to the
/// application.

/// A Bind, Describe or EXECUTE of a name that the session does not have. An empty name is the
/// unnamed statement.
[[nodiscard]] std::string no_such_statement(std::string_view name);

/// A Parse or PREPARE of a name that is taken.
[[nodiscard]] std::string statement_exists(std::string_view name);

/// A Bind of a statement whose rows do not look as they did when it was made.
[[nodiscard]] std::string result_type_changed();

/// A Bind with another number of values than the statement has parameters.
[[nodiscard]] std::string wrong_parameter_count(std::string_view name, std::size_t given,
                                                std::size_t required);

}  // namespace pgb

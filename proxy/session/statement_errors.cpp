#include "proxy/session/statement_errors.h"

#include "protocol/error_response.h"
#include "protocol/sqlstate.h"

namespace pgb {

namespace {

std::string error(const ErrorFields& fields) {
    std::string message;
    append_error(message, fields);
    return message;
}

std::string quoted(std::string_view name) {
    return "prepared statement \"" + std::string(name) + "\"";
}

}  // namespace

std::string no_such_statement(std::string_view name) {
    if (name.empty()) {
        return error({.sqlstate = sqlstate::kInvalidSqlStatementName,
                      .message = "unnamed prepared statement does not exist"});
    }
    return error({.sqlstate = sqlstate::kInvalidSqlStatementName,
                  .message = quoted(name) + " does not exist",
                  .routine = "FetchPreparedStatement"});
}

std::string statement_exists(std::string_view name) {
    return error({.sqlstate = sqlstate::kDuplicatePreparedStatement,
                  .message = quoted(name) + " already exists",
                  .routine = "StorePreparedStatement"});
}

std::string result_type_changed() {
    return error({.sqlstate = sqlstate::kFeatureNotSupported,
                  .message = "cached plan must not change result type",
                  .routine = "RevalidateCachedQuery"});
}

std::string wrong_parameter_count(std::string_view name, std::size_t given, std::size_t required) {
    return error({.sqlstate = sqlstate::kProtocolViolation,
                  .message = "bind message supplies " + std::to_string(given) +
                             " parameters, but " + quoted(name) + " requires " +
                             std::to_string(required),
                  .routine = "exec_bind_message"});
}

}  // namespace pgb

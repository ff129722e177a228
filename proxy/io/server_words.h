#pragma once

#include <string>
#include <string_view>

namespace pgb {

/// What libpq's text about a failed connect says.
struct ServerWords {
    std::string sqlstate;  ///< Empty when the server said nothing.
    std::string message;   ///< One line: the server's primary message, else libpq's last line.
    std::string detail;
    std::string hint;
};

/// Reads PQerrorMessage() of a connection whose verbosity is PQERRORS_VERBOSE: before CONNECTION_OK
/// libpq gives the fields of an ErrorResponse nowhere else.
///
///     connection to server at "127.0.0.1", port 5432 failed: FATAL:  28P01: password …
///     DETAIL:  …
///     LOCATION:  auth_failed, auth.c:335
///
/// With several hosts the last one that the server itself refused counts.
[[nodiscard]] ServerWords read_server_words(std::string_view text);

}  // namespace pgb

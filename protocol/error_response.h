#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pgb {

/// The fields of an ErrorResponse or NoticeResponse (manual, "Error and Notice Message Fields").
/// An empty field is not there. Views: into the parsed body, or to what the caller appends.
/// The defaults are those of an error of our own.
struct ErrorFields {
    std::string_view severity = "ERROR";      ///< S: may be translated; never decide by it
    std::string_view severity_fixed = {};     ///< V: never translated; empty when appended: as S
    std::string_view sqlstate = {};           ///< C
    std::string_view message = {};            ///< M
    std::string_view detail = {};             ///< D
    std::string_view hint = {};               ///< H
    std::string_view position = {};           ///< P
    std::string_view internal_position = {};  ///< p
    std::string_view internal_query = {};     ///< q
    std::string_view where = {};              ///< W
    std::string_view schema = {};             ///< s
    std::string_view table = {};              ///< t
    std::string_view column = {};             ///< c
    std::string_view data_type = {};          ///< d
    std::string_view constraint = {};         ///< n
    std::string_view file = "pgbulkhead";     ///< F
    std::string_view line = "1";              ///< L: a number, as drivers parse it
    std::string_view routine = {};            ///< R
};

/// Appends an ErrorResponse. S, V, C and M are always written, in PostgreSQL's order.
void append_error(std::string& out, const ErrorFields& fields);

/// Appends a NoticeResponse with the same body.
void append_notice(std::string& out, const ErrorFields& fields);

/// The fields of a body, of which the first of each kind counts; fields of unknown kinds are
/// skipped, as the manual asks. Nothing when a field is not terminated, the closing zero byte is
/// missing, or bytes follow it. Pass a whole body only.
[[nodiscard]] std::optional<ErrorFields> parse_error(std::string_view body);

/// FATAL or PANIC: the sender closes the connection after it. By V, and by S for servers before
/// 9.6, which send no V.
[[nodiscard]] bool is_fatal(const ErrorFields& fields);

}  // namespace pgb

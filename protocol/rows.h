#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace pgb {

// The replies that a local answer is made of (manual, "Message Formats").

/// `tag` as PostgreSQL spells it: "BEGIN", "SELECT 1".
void append_command_complete(std::string& out, std::string_view tag);
void append_empty_query_response(std::string& out);
void append_parse_complete(std::string& out);
void append_bind_complete(std::string& out);
void append_close_complete(std::string& out);
void append_no_data(std::string& out);
/// ParameterDescription; `types` are OIDs of 4 bytes each, the most significant first.
void append_parameter_description(std::string& out, std::string_view types);

/// RowDescription of columns of type text in text format.
void append_text_row_description(std::string& out, std::initializer_list<std::string_view> names);
/// RowDescription of one column of type void in text format: a function that returns nothing.
void append_void_row_description(std::string& out, std::string_view name);
/// DataRow with these values, none of them NULL.
void append_text_row(std::string& out, std::initializer_list<std::string_view> values);

}  // namespace pgb

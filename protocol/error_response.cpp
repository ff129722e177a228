#include "protocol/error_response.h"

#include "protocol/cursor.h"
#include "protocol/writer.h"

namespace pgb {

namespace {

struct FieldPlace {
    char code;
    std::string_view ErrorFields::*member;
    bool always;
};

// In the order in which PostgreSQL's send_message_to_frontend() writes them.
constexpr FieldPlace kFields[] = {
    {'S', &ErrorFields::severity, true},        {'V', &ErrorFields::severity_fixed, true},
    {'C', &ErrorFields::sqlstate, true},        {'M', &ErrorFields::message, true},
    {'D', &ErrorFields::detail, false},         {'H', &ErrorFields::hint, false},
    {'W', &ErrorFields::where, false},          {'s', &ErrorFields::schema, false},
    {'t', &ErrorFields::table, false},          {'c', &ErrorFields::column, false},
    {'d', &ErrorFields::data_type, false},      {'n', &ErrorFields::constraint, false},
    {'P', &ErrorFields::position, false},       {'p', &ErrorFields::internal_position, false},
    {'q', &ErrorFields::internal_query, false}, {'F', &ErrorFields::file, false},
    {'L', &ErrorFields::line, false},           {'R', &ErrorFields::routine, false},
};

void append_fields(std::string& out, BackendType type, ErrorFields fields) {
    if (fields.severity_fixed.empty()) fields.severity_fixed = fields.severity;
    MessageWriter writer(out);
    writer.begin(type);
    for (const FieldPlace& place : kFields) {
        const std::string_view value = fields.*place.member;
        if (value.empty() && !place.always) continue;
        writer.u8(static_cast<std::uint8_t>(place.code)).cstring(value);
    }
    writer.u8(0).end();
}

const FieldPlace* place_of(char code) {
    for (const FieldPlace& place : kFields) {
        if (place.code == code) return &place;
    }
    return nullptr;
}

}  // namespace

void append_error(std::string& out, const ErrorFields& fields) {
    append_fields(out, BackendType::error_response, fields);
}

void append_notice(std::string& out, const ErrorFields& fields) {
    append_fields(out, BackendType::notice_response, fields);
}

std::optional<ErrorFields> parse_error(std::string_view body) {
    ErrorFields fields;
    fields.severity = fields.file = fields.line = {};
    Cursor cursor(body);
    while (true) {
        const char code = static_cast<char>(cursor.u8());
        if (cursor.failed()) return std::nullopt;
        if (code == '\0') break;
        const std::string_view value = cursor.cstring();
        if (cursor.failed()) return std::nullopt;
        const FieldPlace* place = place_of(code);
        if (place == nullptr) continue;
        std::string_view& field = fields.*place->member;
        if (field.empty()) field = value;
    }
    if (!cursor.at_end()) return std::nullopt;
    return fields;
}

bool is_fatal(const ErrorFields& fields) {
    const std::string_view severity =
        fields.severity_fixed.empty() ? fields.severity : fields.severity_fixed;
    return severity == "FATAL" || severity == "PANIC";
}

}  // namespace pgb

#include "protocol/rows.h"

#include "protocol/writer.h"

namespace pgb {

namespace {

// From pg_type: the type text, its length and modifier "none".
constexpr std::uint32_t kTextOid = 25;
constexpr std::int16_t kVariableLength = -1;
// The same of void.
constexpr std::uint32_t kVoidOid = 2278;
constexpr std::int16_t kVoidLength = 4;
constexpr std::int32_t kNoModifier = -1;

void append_empty_message(std::string& out, BackendType type) {
    MessageWriter writer(out);
    writer.begin(type).end();
}

}  // namespace

void append_command_complete(std::string& out, std::string_view tag) {
    MessageWriter writer(out);
    writer.begin(BackendType::command_complete).cstring(tag).end();
}

void append_empty_query_response(std::string& out) {
    append_empty_message(out, BackendType::empty_query_response);
}
void append_parse_complete(std::string& out) {
    append_empty_message(out, BackendType::parse_complete);
}
void append_bind_complete(std::string& out) {
    append_empty_message(out, BackendType::bind_complete);
}
void append_close_complete(std::string& out) {
    append_empty_message(out, BackendType::close_complete);
}
void append_no_data(std::string& out) { append_empty_message(out, BackendType::no_data); }

void append_parameter_description(std::string& out, std::string_view types) {
    MessageWriter writer(out);
    writer.begin(BackendType::parameter_description)
        .u16(static_cast<std::uint16_t>(types.size() / sizeof(std::uint32_t)))
        .bytes(types)
        .end();
}

void append_text_row_description(std::string& out, std::initializer_list<std::string_view> names) {
    MessageWriter writer(out);
    writer.begin(BackendType::row_description).u16(static_cast<std::uint16_t>(names.size()));
    for (const std::string_view name : names) {
        writer.cstring(name).u32(0).i16(0);  // of no table
        writer.u32(kTextOid).i16(kVariableLength).i32(kNoModifier).i16(0);
    }
    writer.end();
}

void append_void_row_description(std::string& out, std::string_view name) {
    MessageWriter writer(out);
    writer.begin(BackendType::row_description).u16(1).cstring(name).u32(0).i16(0);
    writer.u32(kVoidOid).i16(kVoidLength).i32(kNoModifier).i16(0).end();
}

void append_text_row(std::string& out, std::initializer_list<std::string_view> values) {
    MessageWriter writer(out);
    writer.begin(BackendType::data_row).u16(static_cast<std::uint16_t>(values.size()));
    for (const std::string_view value : values) {
        writer.u32(static_cast<std::uint32_t>(value.size())).bytes(value);
    }
    writer.end();
}

}  // namespace pgb

#include "proxy/admin/console/table.h"

#include <fmt/format.h>

#include <bit>

#include "protocol/writer.h"

namespace pgb {

namespace {

// From pg_type: OIDs and lengths.
struct WireType {
    std::uint32_t oid;
    std::int16_t length;
};

WireType wire_type(ColumnType type) {
    switch (type) {
        case ColumnType::text: return {25, -1};
        case ColumnType::int8: return {20, 8};
        case ColumnType::float8: return {701, 8};
    }
    return {25, -1};
}

void append_value(MessageWriter& writer, std::string_view bytes) {
    writer.u32(static_cast<std::uint32_t>(bytes.size())).bytes(bytes);
}

void append_number(MessageWriter& writer, std::uint64_t bits) {
    writer.u32(8)
        .u32(static_cast<std::uint32_t>(bits >> 32))
        .u32(static_cast<std::uint32_t>(bits & 0xffffffffU));
}

struct CellWriter {
    MessageWriter& writer;
    bool is_binary;

    void operator()(std::monostate) const { writer.i32(-1); }
    void operator()(const std::string& text) const { append_value(writer, text); }
    void operator()(std::int64_t number) const {
        if (is_binary) {
            append_number(writer, static_cast<std::uint64_t>(number));
        } else {
            append_value(writer, std::to_string(number));
        }
    }
    void operator()(double number) const {
        if (is_binary) {
            append_number(writer, std::bit_cast<std::uint64_t>(number));
        } else {
            append_value(writer, fmt::format("{}", number));
        }
    }
};

// How many bytes at the front are one character; 0: none that a terminal should get.
std::size_t character_size(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
    }
    const auto second = static_cast<unsigned char>(text[1]);
    // Controls above ASCII, longer than need be, surrogates, beyond Unicode.
    const bool is_bad = (lead == 0xc2 && second < 0xa0) || (lead == 0xe0 && second < 0xa0) ||
                        (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
                        (lead == 0xf4 && second > 0x8f);
    return is_bad ? 0 : size;
}

}  // namespace

void append_row_description(std::string& out, Columns columns, const ResultFormats& formats) {
    MessageWriter writer(out);
    writer.begin(BackendType::row_description).u16(static_cast<std::uint16_t>(columns.size()));
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const WireType type = wire_type(columns[i].type);
        // Of no table, without a modifier.
        writer.cstring(columns[i].name).u32(0).i16(0);
        writer.u32(type.oid).i16(type.length).i32(-1).i16(formats.binary(i) ? 1 : 0);
    }
    writer.end();
}

void append_data_row(std::string& out, const Row& row, const ResultFormats& formats) {
    MessageWriter writer(out);
    writer.begin(BackendType::data_row).u16(static_cast<std::uint16_t>(row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
        std::visit(CellWriter{writer, formats.binary(i)}, row[i]);
    }
    writer.end();
}

std::string shown(std::string_view text, std::size_t limit) {
    std::string result;
    while (!text.empty()) {
        const std::size_t size = character_size(text);
        if (result.size() + std::max<std::size_t>(size, 1) > limit) return result + "...";
        if (size == 0) {
            result += '?';
        } else {
            result += text.substr(0, size);
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return result;
}

}  // namespace pgb

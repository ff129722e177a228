#include "tests/support/load/wire.h"

#include <cstddef>

namespace pgb::load {
namespace {

constexpr std::uint32_t kProtocolVersion = 3U << 16U;
constexpr std::uint32_t kCancelRequestCode = (1234U << 16U) | 5678U;
constexpr std::uint32_t kMessageMax = 1U << 30U;

void append_u16(std::string& out, std::uint16_t value) {
    out.push_back(static_cast<char>(value >> 8U));
    out.push_back(static_cast<char>(value & 0xFFU));
}

void append_u32(std::string& out, std::uint32_t value) {
    for (unsigned shift = 24;; shift -= 8) {
        out.push_back(static_cast<char>((value >> shift) & 0xFFU));
        if (shift == 0) return;
    }
}

std::uint32_t read_u32(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        value = (value << 8U) | static_cast<unsigned char>(bytes[i]);
    }
    return value;
}

void append_text(std::string& out, std::string_view text) {
    out.append(text);
    out.push_back('\0');
}

void append_message(std::string& out, char type, std::string_view body) {
    out.push_back(type);
    append_u32(out, static_cast<std::uint32_t>(body.size() + 4));
    out.append(body);
}

// Cuts a zero-terminated text off the front; a missing terminator takes all there is.
std::string_view take_text(std::string_view& bytes) {
    const std::size_t end = bytes.find('\0');
    const std::string_view text = bytes.substr(0, end);
    bytes = end == std::string_view::npos ? std::string_view() : bytes.substr(end + 1);
    return text;
}

}  // namespace

namespace frontend {

void startup(std::string& out, const std::vector<Parameter>& parameters) {
    std::string body;
    append_u32(body, kProtocolVersion);
    for (const Parameter& parameter : parameters) {
        append_text(body, parameter.name);
        append_text(body, parameter.value);
    }
    body.push_back('\0');
    append_u32(out, static_cast<std::uint32_t>(body.size() + 4));
    out.append(body);
}

void cancel_request(std::string& out, CancelKey key) {
    append_u32(out, 16);
    append_u32(out, kCancelRequestCode);
    append_u32(out, key.process_id);
    append_u32(out, key.secret);
}

void query(std::string& out, std::string_view sql) {
    std::string body;
    append_text(body, sql);
    append_message(out, 'Q', body);
}

void parse_bind_execute(std::string& out, std::string_view sql) {
    std::string parse;
    append_text(parse, "");
    append_text(parse, sql);
    append_u16(parse, 0);
    append_message(out, 'P', parse);

    std::string bind;
    append_text(bind, "");
    append_text(bind, "");
    append_u16(bind, 0);
    append_u16(bind, 0);
    append_u16(bind, 0);
    append_message(out, 'B', bind);

    std::string execute;
    append_text(execute, "");
    append_u32(execute, 0);
    append_message(out, 'E', execute);
}

void sync(std::string& out) { append_message(out, 'S', ""); }

void terminate(std::string& out) { append_message(out, 'X', ""); }

}  // namespace frontend

void MessageReader::feed(std::string_view bytes) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
    buffer_.append(bytes);
}

std::optional<Message> MessageReader::next() {
    const std::string_view rest = std::string_view(buffer_).substr(consumed_);
    if (broken_ || rest.size() < 5) return std::nullopt;
    const std::uint32_t length = read_u32(rest.substr(1));
    if (length < 4 || length > kMessageMax) {
        broken_ = true;
        return std::nullopt;
    }
    const std::size_t whole = static_cast<std::size_t>(length) + 1;
    if (rest.size() < whole) return std::nullopt;
    consumed_ += whole;
    return Message{rest[0], rest.substr(5, whole - 5)};
}

void MessageReader::reset() {
    buffer_.clear();
    consumed_ = 0;
    broken_ = false;
}

ErrorFields parse_error(std::string_view body) {
    ErrorFields fields;
    while (!body.empty() && body.front() != '\0') {
        const char field = body.front();
        body.remove_prefix(1);
        const std::string_view text = take_text(body);
        if (field == 'V') fields.severity = text;
        if (field == 'C') fields.sqlstate = text;
        if (field == 'M') fields.message = text;
        if (field == 'H') fields.hint = text;
    }
    return fields;
}

std::optional<std::string_view> hint_value(std::string_view hint, std::string_view key) {
    while (!hint.empty()) {
        const std::size_t blank = hint.find(' ');
        const std::string_view pair = hint.substr(0, blank);
        const std::size_t equals = pair.find('=');
        if (equals != std::string_view::npos && pair.substr(0, equals) == key) {
            return pair.substr(equals + 1);
        }
        hint = blank == std::string_view::npos ? std::string_view() : hint.substr(blank + 1);
    }
    return std::nullopt;
}

std::optional<std::string_view> first_column(std::string_view data_row_body) {
    if (data_row_body.size() < 6) return std::nullopt;
    const std::uint32_t length = read_u32(data_row_body.substr(2));
    if (length > data_row_body.size() - 6) return std::nullopt;
    return data_row_body.substr(6, length);
}

std::string_view command_tag(std::string_view body) { return take_text(body); }

CancelKey parse_cancel_key(std::string_view body) {
    if (body.size() < 8) return {};
    return {read_u32(body), read_u32(body.substr(4))};
}

}  // namespace pgb::load

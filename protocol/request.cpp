#include "protocol/request.h"

#include "protocol/cursor.h"

namespace pgb {

namespace {

// Reads as pqformat.c reads: the first thing that is wrong is the fault, or, in a bounded
// beginning of a message, the cut.
class RequestReader {
public:
    RequestReader(std::string_view body, bool whole, RequestShape& shape)
        : cursor_(body), whole_(whole), shape_(shape) {}

    [[nodiscard]] bool stopped() const {
        return shape_.truncated || shape_.fault != MessageFault::none;
    }

    char byte() {
        if (stopped()) return 0;
        const auto value = static_cast<char>(cursor_.u8());
        if (cursor_.failed()) stop(MessageFault::no_data);
        return value;
    }

    // What there is of the string when it was cut.
    std::string_view string() {
        if (stopped()) return {};
        const std::string_view rest = cursor_.remaining();
        const std::string_view text = cursor_.cstring();
        if (!cursor_.failed()) return text;
        stop(MessageFault::invalid_string);
        return rest;
    }

    std::uint16_t u16() {
        if (stopped()) return 0;
        const std::uint16_t value = cursor_.u16();
        if (cursor_.failed()) stop(MessageFault::insufficient_data);
        return value;
    }

    std::int32_t i32() {
        if (stopped()) return 0;
        const std::int32_t value = cursor_.i32();
        if (cursor_.failed()) stop(MessageFault::insufficient_data);
        return value;
    }

    std::string_view bytes(std::int64_t size) {
        if (stopped()) return {};
        if (size < 0) {
            shape_.fault = MessageFault::insufficient_data;
            return {};
        }
        const std::string_view read = cursor_.bytes(static_cast<std::size_t>(size));
        if (cursor_.failed()) stop(MessageFault::insufficient_data);
        return read;
    }
    void skip(std::int64_t size) { bytes(size); }

    void end() {
        if (stopped()) return;
        if (!cursor_.at_end()) {
            shape_.fault = MessageFault::invalid_format;
        } else if (!whole_) {
            shape_.truncated = true;
        }
    }

private:
    void stop(MessageFault fault) {
        if (whole_) {
            shape_.fault = fault;
        } else {
            shape_.truncated = true;
        }
    }

    Cursor cursor_;
    bool whole_;
    RequestShape& shape_;
};

TargetRequest parse_target(std::string_view body, bool whole) {
    TargetRequest request;
    RequestReader reader(body, whole, request);
    request.kind = reader.byte();
    request.name = reader.string();
    reader.end();
    // PostgreSQL looks at the kind last.
    if (!reader.stopped() && request.kind != 'S' && request.kind != 'P') {
        request.fault = MessageFault::invalid_subtype;
    }
    return request;
}

}  // namespace

std::string_view fault_message(MessageFault fault) {
    switch (fault) {
        case MessageFault::no_data: return "no data left in message";
        case MessageFault::invalid_string: return "invalid string in message";
        case MessageFault::insufficient_data: return "insufficient data left in message";
        case MessageFault::invalid_format: return "invalid message format";
        case MessageFault::none:
        case MessageFault::invalid_subtype: break;
    }
    return {};
}

QueryRequest parse_query(std::string_view body, bool whole) {
    QueryRequest request;
    RequestReader reader(body, whole, request);
    request.text = reader.string();
    reader.end();
    return request;
}

ParseRequest parse_parse(std::string_view body, bool whole) {
    ParseRequest request;
    RequestReader reader(body, whole, request);
    request.name = reader.string();
    request.name_complete = !reader.stopped();
    request.text = reader.string();
    request.text_complete = !reader.stopped();
    request.parameter_type_count = reader.u16();
    request.types = reader.bytes(std::int64_t{4} * request.parameter_type_count);
    reader.end();
    return request;
}

BindRequest parse_bind(std::string_view body, bool whole) {
    BindRequest request;
    RequestReader reader(body, whole, request);
    request.portal = reader.string();
    request.statement = reader.string();
    request.names_complete = !reader.stopped();
    reader.skip(std::int64_t{2} * reader.u16());  // parameter formats
    request.parameter_count = reader.u16();
    for (unsigned i = 0; i < request.parameter_count && !reader.stopped(); ++i) {
        const std::int32_t size = reader.i32();
        if (size != -1) reader.skip(size);  // -1: NULL, without bytes
    }
    reader.skip(std::int64_t{2} * reader.u16());  // result formats
    reader.end();
    return request;
}

TargetRequest parse_describe(std::string_view body, bool whole) {
    return parse_target(body, whole);
}
TargetRequest parse_close(std::string_view body, bool whole) { return parse_target(body, whole); }

ExecuteRequest parse_execute(std::string_view body, bool whole) {
    ExecuteRequest request;
    RequestReader reader(body, whole, request);
    request.portal = reader.string();
    request.row_max = reader.i32();
    reader.end();
    return request;
}

}  // namespace pgb

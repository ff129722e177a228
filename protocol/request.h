#pragma once

#include <cstdint>
#include <string_view>

namespace pgb {

/// What PostgreSQL would complain about in a message's layout (its pqformat.c), always with ERROR
/// 08P01; the session goes on.
enum class MessageFault : std::uint8_t {
    none,
    no_data,            ///< "no data left in message"
    invalid_string,     ///< "invalid string in message": a string without its NUL
    insufficient_data,  ///< "insufficient data left in message": a count or length that lies
    invalid_format,     ///< "invalid message format": bytes behind the end
    invalid_subtype,    ///< Describe or Close of something that is neither 'S' nor 'P'
};

/// PostgreSQL's text for a fault; empty for none and for invalid_subtype, which has a text with
/// values in it.
[[nodiscard]] std::string_view fault_message(MessageFault fault);

/// Every decoder takes the body of a first piece. `whole` false: `body` is a bounded beginning of
/// a longer message (Frame::body_is_whole). Then a message that ends too early is no fault: it is
/// `truncated`, the string that was cut is what there is of it, and what would stand behind the
/// cut is empty or 0.
struct RequestShape {
    MessageFault fault = MessageFault::none;
    bool truncated = false;

    [[nodiscard]] bool well_formed() const { return fault == MessageFault::none; }
};

struct QueryRequest : RequestShape {
    std::string_view text;  ///< when truncated: its beginning
};
[[nodiscard]] QueryRequest parse_query(std::string_view body, bool whole);

struct ParseRequest : RequestShape {
    std::string_view name;  ///< of the statement; empty: the unnamed one
    std::string_view text;  ///< when truncated: its beginning
    /// text was reached: name is complete. False only when truncated or faulty within the name.
    bool name_complete = false;
    /// text is complete; false when truncated within it.
    bool text_complete = false;
    std::uint16_t parameter_type_count = 0;
    std::string_view types;  ///< their OIDs, four bytes each; empty when truncated
};
[[nodiscard]] ParseRequest parse_parse(std::string_view body, bool whole);

struct BindRequest : RequestShape {
    std::string_view portal;
    std::string_view statement;
    /// Both names are complete. False only when truncated or faulty within the names.
    bool names_complete = false;
    /// Parameters supplied; 0 when the cut came before the count.
    std::uint16_t parameter_count = 0;
};
/// Walks over formats and values (never looking into them) to find what PostgreSQL would refuse.
[[nodiscard]] BindRequest parse_bind(std::string_view body, bool whole);

/// A Describe or a Close.
struct TargetRequest : RequestShape {
    char kind = 0;  ///< 'S' statement, 'P' portal; other bytes are invalid_subtype
    std::string_view name;
};
[[nodiscard]] TargetRequest parse_describe(std::string_view body, bool whole);
[[nodiscard]] TargetRequest parse_close(std::string_view body, bool whole);

struct ExecuteRequest : RequestShape {
    std::string_view portal;
    std::int32_t row_max = 0;  ///< 0 or negative: no limit
};
[[nodiscard]] ExecuteRequest parse_execute(std::string_view body, bool whole);

}  // namespace pgb

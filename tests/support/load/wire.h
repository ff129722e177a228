#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The frontend's half of the PostgreSQL protocol, written apart from the product's own codec so
/// that a mistake there cannot hide behind the same mistake here.
namespace pgb::load {

/// What BackendKeyData gave: the right to cancel one session.
struct CancelKey {
    std::uint32_t process_id = 0;
    std::uint32_t secret = 0;
};

/// The messages that a frontend sends, appended to a buffer.
namespace frontend {
struct Parameter {
    std::string name;
    std::string value;
};
void startup(std::string& out, const std::vector<Parameter>& parameters);
void cancel_request(std::string& out, CancelKey key);
void query(std::string& out, std::string_view sql);
/// Parse, Bind and Execute of the unnamed statement, without parameters and without Sync.
void parse_bind_execute(std::string& out, std::string_view sql);
void sync(std::string& out);
void terminate(std::string& out);
}  // namespace frontend

/// One message of a backend; the body is valid until the reader is fed again.
struct Message {
    char type = 0;
    std::string_view body;
};

/// Cuts what a backend sent into messages. A message that has not wholly arrived waits.
class MessageReader {
public:
    void feed(std::string_view bytes);
    /// The next whole message; none when more bytes are needed or the stream is broken.
    std::optional<Message> next();
    /// True after a length below 4 or above 1 GiB: this is no PostgreSQL stream.
    [[nodiscard]] bool is_broken() const { return broken_; }
    void reset();

private:
    std::string buffer_;
    std::size_t consumed_ = 0;
    bool broken_ = false;
};

/// The fields of an ErrorResponse or NoticeResponse that the load tools look at.
struct ErrorFields {
    std::string severity;
    std::string sqlstate;
    std::string message;
    std::string hint;
};
ErrorFields parse_error(std::string_view body);

/// The value of `key=` in a hint of blank-separated pairs; none when the key is not there.
std::optional<std::string_view> hint_value(std::string_view hint, std::string_view key);

/// The first column of a DataRow as text; none for NULL or a malformed row.
std::optional<std::string_view> first_column(std::string_view data_row_body);

/// CommandComplete's tag, without the ending zero byte.
std::string_view command_tag(std::string_view body);

CancelKey parse_cancel_key(std::string_view body);

}  // namespace pgb::load

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pgb {

/// What is wrong with a client's message, in PostgreSQL's words; it ends the connection.
struct ScramFault {
    std::string_view sqlstate;
    std::string message;
    std::string detail;
};

/// 08P01 `malformed SCRAM message`.
[[nodiscard]] ScramFault malformed_scram(std::string detail);
/// At most 30 characters of a peer's text, those that are not printable as question marks.
[[nodiscard]] std::string shown_scram_text(std::string_view text);

/// Reads the attributes of a SCRAM message, `a=value,b=value`, front to back. The first fault is
/// kept and every later read yields nothing, so that a decoder may look once at the end. The message
/// has no zero bytes and outlives the reader and what it yields.
class ScramReader {
public:
    explicit ScramReader(std::string_view message) : rest_(message) {}

    struct Attribute {
        char name = '\0';
        std::string_view value;
    };

    /// The next byte; zero at the end.
    [[nodiscard]] char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
    void skip() { rest_.remove_prefix(rest_.empty() ? 0 : 1); }
    void take_comma();
    /// The value of the attribute of this name, which must be the next.
    std::string_view take_value(char name);
    Attribute take_any();

    [[nodiscard]] std::string_view rest() const { return rest_; }
    [[nodiscard]] bool at_end() const { return rest_.empty(); }
    /// The next byte for a person.
    [[nodiscard]] std::string shown() const;

    [[nodiscard]] bool failed() const { return fault_.has_value(); }
    [[nodiscard]] const std::optional<ScramFault>& fault() const { return fault_; }
    void fail(ScramFault fault);
    void complain(std::string detail) { fail(malformed_scram(std::move(detail))); }

private:
    std::string_view take_assigned(char name);

    std::string_view rest_;
    std::optional<ScramFault> fault_;
};

}  // namespace pgb

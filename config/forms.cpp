#include "config/forms.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "config/classify.h"
#include "config/codes.h"
#include "config/network.h"
#include "config/pattern.h"
#include "config/read.h"
#include "config/units.h"

namespace pgb::config {
namespace {

// Paths and conninfos of the longest kind fit; a glob is matched against names of 63 bytes.
constexpr std::size_t kTextMax = 4096;
constexpr std::size_t kGlobMax = 256;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool is_name_char(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
}
bool is_sqlstate_char(char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); }

std::optional<Problem> malformed(std::string_view text, std::string_view what) {
    return Problem{code::kMalformed, quote(text) + " is not " + std::string(what), ""};
}

std::optional<Problem> judge_pattern(std::string_view text) {
    const auto compiled = Pattern::compile(text);
    const auto* fault = std::get_if<Pattern::Fault>(&compiled);
    if (fault == nullptr) return std::nullopt;
    return Problem{code::kMalformed,
                   quote(text) + " is not a pattern of RE2: " + fault->message + ", at byte " +
                       std::to_string(fault->offset + 1),
                   ""};
}

}  // namespace

bool is_loopback(std::string_view host) {
    return host == "localhost" || host == "::1" || (read_ipv4(host) && host.starts_with("127."));
}

std::variant<Address, Problem> parse_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    const bool host_fits =
        bracketed ? read_ipv6(host).has_value() : host.find_first_of(":[] /") == host.npos;
    if (colon == std::string_view::npos || host.empty() || !host_fits) {
        return *malformed(text, "an address such as 127.0.0.1:9432 or [::1]:9432");
    }
    const Amount port = parse_count(text.substr(colon + 1));
    const auto* number = std::get_if<std::uint64_t>(&port);
    if (number == nullptr || *number > 65535) {
        return *malformed(text, "an address: its port is no number up to 65535");
    }
    return Address{std::string(host), static_cast<std::uint16_t>(*number)};
}

std::optional<Problem> judge_text(Form form, std::string_view text) {
    if (text.size() > kTextMax) {
        return Problem{code::kRange, "is longer than 4096 bytes", ""};
    }
    if (std::any_of(text.begin(), text.end(), is_control)) {
        return Problem{code::kMalformed, "contains control characters", ""};
    }
    const bool conninfo = form == Form::conninfo;
    if (text.empty() && !conninfo) return Problem{code::kMalformed, "is empty", ""};
    if (form == Form::name &&
        (text.size() > kNameMax || !std::all_of(text.begin(), text.end(), is_name_char))) {
        return Problem{code::kBadName,
                       quote(text) + " is not a name: up to 63 letters, digits, `_`, `.` or `-`",
                       ""};
    }
    if (form == Form::glob && (text.size() > kGlobMax || !Glob::compile(text))) {
        return malformed(text, "a pattern of `*`, `?` and `[..]`, at most 256 bytes");
    }
    if (form == Form::pattern) return judge_pattern(text);
    if (form == Form::network && !Network::parse(text)) {
        return malformed(text, "a network such as 10.0.0.0/8");
    }
    if (form == Form::sqlstate &&
        (text.size() != 5 || !std::all_of(text.begin(), text.end(), is_sqlstate_char))) {
        return malformed(text, "a SQLSTATE: five digits or capital letters");
    }
    if (form == Form::tls_version && text != "1.2" && text != "1.3") {
        return malformed(text, "a TLS version: 1.2 or 1.3");
    }
    return std::nullopt;
}

}  // namespace pgb::config

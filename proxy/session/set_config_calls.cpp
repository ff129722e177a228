#include "proxy/session/set_config_calls.h"

#include <algorithm>

#include "protocol/bound_value.h"
#include "protocol/cursor.h"
#include "protocol/sql_name.h"

namespace pgb {

namespace {

// pg_type.oid. A parameter without a type gets the one that set_config() has.
constexpr std::uint32_t kUndeclared = 0;
constexpr std::uint32_t kBool = 16;
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kUnknown = 705;
constexpr std::uint32_t kVarchar = 1043;

std::uint32_t type_of(std::string_view types, std::uint16_t parameter) {
    Cursor cursor(types);
    std::uint32_t type = kUndeclared;
    for (unsigned i = 0; i < parameter; ++i) type = cursor.u32();
    return cursor.failed() ? kUndeclared : type;
}

bool fits_text(std::uint32_t type) {
    return type == kUndeclared || type == kText || type == kUnknown || type == kVarchar;
}

// Text is the same bytes in both formats.
std::optional<std::string> text_of(const SetConfigCall::Argument& argument, std::string_view body,
                                   bool utf8) {
    if (argument.parameter == 0) return argument.literal;
    const std::optional<BoundValue> value = bound_value(body, argument.parameter);
    if (!value || value->is_null) return std::nullopt;
    // In some encodings a quote or a backslash may be half of a character.
    const bool ascii = std::all_of(value->bytes.begin(), value->bytes.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    const bool has_nul = value->bytes.find('\0') != value->bytes.npos;
    if (has_nul || !(ascii || utf8)) return std::nullopt;
    return std::string(value->bytes);
}

std::optional<bool> bool_of(const SetConfigCall::Argument& argument, std::string_view body) {
    std::string_view text = argument.literal;
    if (argument.parameter != 0) {
        const std::optional<BoundValue> value = bound_value(body, argument.parameter);
        if (!value || value->is_null) return std::nullopt;
        if (value->is_binary) {
            if (value->bytes.size() != 1) return std::nullopt;
            return value->bytes[0] != 0;
        }
        text = value->bytes;
    }
    // What drivers write. PostgreSQL takes more, such as blanks and beginnings of words.
    const std::string word = lower_case(text);
    if (word == "true" || word == "t" || word == "on" || word == "1") return true;
    if (word == "false" || word == "f" || word == "off" || word == "0") return false;
    return std::nullopt;
}

}  // namespace

void SetConfigCalls::declare(std::string_view types) {
    readable_ = std::all_of(calls_.begin(), calls_.end(), [types](const SetConfigCall& call) {
        const std::uint32_t local = type_of(types, call.local.parameter);
        return fits_text(type_of(types, call.name.parameter)) &&
               fits_text(type_of(types, call.value.parameter)) &&
               (local == kUndeclared || local == kBool);
    });
}

std::optional<std::vector<SettingChange>> SetConfigCalls::bind(std::string_view body,
                                                               bool utf8) const {
    std::vector<SettingChange> changes;
    if (!readable_) return std::nullopt;
    for (const SetConfigCall& call : calls_) {
        const std::optional<bool> local = bool_of(call.local, body);
        if (!local) return std::nullopt;
        if (*local) continue;
        const std::optional<std::string> name = text_of(call.name, body, utf8);
        const std::optional<std::string> value = text_of(call.value, body, utf8);
        if (!name || !value) return std::nullopt;
        std::string setting = setting_name(*name);
        if (!can_be_followed(setting)) return std::nullopt;
        changes.push_back(set_config_change(std::move(setting), *value));
    }
    return changes;
}

}  // namespace pgb

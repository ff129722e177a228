#include "config/values.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "config/codes.h"
#include "config/forms.h"
#include "config/print.h"
#include "config/read.h"
#include "config/suggest.h"
#include "config/units.h"

namespace pgb::config {
namespace {

using Maybe = std::optional<Problem>;

Amount parse_number(Form form, std::string_view text) {
    if (form == Form::duration) return parse_duration(text);
    if (form == Form::size) return parse_size(text);
    if (form == Form::octal) return parse_octal(text);
    return parse_count(text);
}

/// Reads a number of the key's form, holds it against the range, and hands it to `store`.
template <typename Store>
Maybe take_number(const Key& key, std::string_view text, Store store) {
    const Amount amount = parse_number(key.form, text);
    if (const auto* problem = std::get_if<Problem>(&amount)) return *problem;
    const std::uint64_t value = std::get<std::uint64_t>(amount);
    if (value < key.range.low || value > key.range.high) {
        return Problem{code::kRange,
                       "must be from " + show_bound(key.form, key.range.low) + " to " +
                           show_bound(key.form, key.range.high) + ", not " + quote(text),
                       ""};
    }
    store(value);
    return std::nullopt;
}

Maybe take_word(const WordSlot& slot, std::string_view text) {
    const auto found = std::find(slot.words.begin(), slot.words.end(), text);
    if (found != slot.words.end()) {
        *slot.value = static_cast<unsigned char>(found - slot.words.begin());
        return std::nullopt;
    }
    std::string words = "takes ";
    for (std::size_t i = 0; i < slot.words.size(); ++i) {
        if (i > 0) words += i + 1 < slot.words.size() ? ", " : " or ";
        words += slot.words[i];
    }
    return Problem{code::kUnknownWord, words + ", not " + quote(text), suggest(text, slot.words)};
}

Maybe take_bool(bool& value, std::string_view text) {
    if (text == "true" || text == "false") {
        value = text == "true";
        return std::nullopt;
    }
    std::string meant;
    if (text == "yes" || text == "on" || text == "True" || text == "TRUE") meant = "true";
    if (text == "no" || text == "off" || text == "False" || text == "FALSE") meant = "false";
    return Problem{code::kWrongType, "takes true or false, not " + quote(text), meant};
}

/// One overload for each type of slot.
struct Assigner {
    const Key& key;
    std::string_view text;

    Maybe operator()(std::string* value) const {
        if (Maybe problem = judge_text(key.form, text)) return problem;
        *value = text;
        return std::nullopt;
    }
    Maybe operator()(std::optional<std::string>* value) const {
        if (Maybe problem = judge_text(key.form, text)) return problem;
        *value = std::string(text);
        return std::nullopt;
    }
    Maybe operator()(std::uint64_t* value) const {
        return take_number(key, text, [=](std::uint64_t n) { *value = n; });
    }
    Maybe operator()(std::optional<std::uint64_t>* value) const {
        return take_number(key, text, [=](std::uint64_t n) { *value = n; });
    }
    Maybe operator()(std::uint16_t* value) const {
        return take_number(key, text,
                           [=](std::uint64_t n) { *value = static_cast<std::uint16_t>(n); });
    }
    Maybe operator()(std::uint32_t* value) const {
        return take_number(key, text,
                           [=](std::uint64_t n) { *value = static_cast<std::uint32_t>(n); });
    }
    Maybe operator()(Duration* value) const {
        return take_number(
            key, text, [=](std::uint64_t n) { *value = Duration(static_cast<Duration::rep>(n)); });
    }
    Maybe operator()(bool* value) const { return take_bool(*value, text); }
    Maybe operator()(const WordSlot& slot) const { return take_word(slot, text); }
    Maybe operator()(std::optional<Address>* value) const {
        if (Maybe problem = judge_text(key.form, text)) return problem;
        auto parsed = parse_address(text);
        if (const auto* problem = std::get_if<Problem>(&parsed)) return *problem;
        *value = std::get<Address>(std::move(parsed));
        return std::nullopt;
    }
    Maybe operator()(std::vector<std::string>*) const {
        return Problem{code::kWrongType, "takes a list, not " + quote(text), ""};
    }
    Maybe operator()(TagList*) const {
        return Problem{code::kWrongType, "takes a mapping, not " + quote(text), ""};
    }
};

std::string show_address(const Address& address) {
    const bool brackets = address.host.find(':') != std::string::npos;
    const std::string host = brackets ? "[" + address.host + "]" : address.host;
    return show_text(host + ":" + std::to_string(address.port));
}

struct Shower {
    const Key& key;

    std::string operator()(const std::string* value) const { return show_text(*value); }
    std::string operator()(const std::optional<std::string>* value) const {
        return *value ? show_text(**value) : "null";
    }
    std::string operator()(const std::uint64_t* value) const {
        return show_bound(key.form, *value);
    }
    std::string operator()(const std::optional<std::uint64_t>* value) const {
        return *value ? show_bound(key.form, **value) : "null";
    }
    std::string operator()(const std::uint16_t* value) const { return std::to_string(*value); }
    std::string operator()(const std::uint32_t* value) const {
        return "\"" + show_octal(*value) + "\"";
    }
    std::string operator()(const Duration* value) const {
        return show_duration(static_cast<std::uint64_t>(value->count()));
    }
    std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
    std::string operator()(const WordSlot& slot) const {
        return std::string(slot.words[*slot.value]);
    }
    std::string operator()(const std::optional<Address>* value) const {
        return *value ? show_address(**value) : "null";
    }
    std::string operator()(const std::vector<std::string>* value) const {
        std::string result = "[";
        for (const std::string& item : *value) {
            if (result.size() > 1) result += ", ";
            result += show_text(item);
        }
        return result + "]";
    }
    std::string operator()(const TagList* value) const {
        std::string result = "{";
        for (const auto& [name, tag] : *value) {
            if (result.size() > 1) result += ", ";
            result += show_key(name) + ": " + show_text(tag);
        }
        return result + "}";
    }
};

}  // namespace

std::optional<Problem> assign(const Key& key, const Slot& slot, std::string_view text,
                              bool quoted) {
    if (!quoted && (text.empty() || text == "~" || text == "null")) return assign_null(key, slot);
    return std::visit(Assigner{key, text}, slot);
}

std::optional<Problem> assign_null(const Key&, const Slot& slot) {
    if (auto* const* text = std::get_if<std::optional<std::string>*>(&slot)) {
        (*text)->reset();
    } else if (auto* const* number = std::get_if<std::optional<std::uint64_t>*>(&slot)) {
        (*number)->reset();
    } else if (auto* const* address = std::get_if<std::optional<Address>*>(&slot)) {
        (*address)->reset();
    } else {
        return Problem{code::kWrongType, "needs a value: null does not mean anything here", ""};
    }
    return std::nullopt;
}

std::string show(const Key& key, const Slot& slot) { return std::visit(Shower{key}, slot); }

std::string show_masked(const Key& key, const Slot& slot) {
    if (key.form != Form::conninfo) return show(key, slot);
    if (const auto* const* text = std::get_if<std::string*>(&slot)) {
        return show_text(mask_conninfo(**text));
    }
    const auto* const* maybe = std::get_if<std::optional<std::string>*>(&slot);
    return maybe != nullptr && **maybe ? show_text(mask_conninfo(***maybe)) : "null";
}

std::string show_key(std::string_view name) {
    std::string result = "\"";
    for (char c : name) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

std::string show_text(std::string_view text) {
    std::string escaped;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '$' && text.substr(i + 1, 1) == "{") escaped += '$';
        escaped += c;
    }
    return show_key(escaped);
}

std::string show_bound(Form form, std::uint64_t bound) {
    if (form == Form::duration) return show_duration(bound);
    if (form == Form::size) return show_size(bound);
    if (form == Form::octal) return show_octal(static_cast<std::uint32_t>(bound));
    return std::to_string(bound);
}

std::string show_default(const Section& section, const Key& key) {
    Listener listener;
    DatabaseEntry database;
    Workload workload;
    Config config;
    void* fresh = &config;
    if (section.path == "listen") fresh = &listener;
    if (section.path == "databases") fresh = &database;
    if (section.path == "workloads") fresh = &workload;
    return show(key, key.slot(fresh));
}

bool is_default(const Section& section, const Key& key, const Slot& slot) {
    return show(key, slot) == show_default(section, key);
}

}  // namespace pgb::config

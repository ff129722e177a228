#include "proxy/session/reported_values.h"

namespace pgb {

ReportedValues::Entry ReportedValues::front(std::string_view rest) {
    Entry entry;
    entry.name = rest.substr(0, rest.find('\0'));
    const std::string_view behind = rest.substr(entry.name.size() + 1);
    entry.value = behind.substr(0, behind.find('\0'));
    entry.size = entry.name.size() + entry.value.size() + 2;
    return entry;
}

std::string& ReportedValues::own() {
    if (packed_.use_count() != 1) packed_ = std::make_shared<std::string>(packed());
    return *packed_;
}

bool ReportedValues::set(std::string_view name, std::string_view value) {
    for (std::size_t at = 0; at < packed().size();) {
        const Entry entry = front(packed().substr(at));
        if (entry.name == name) {
            if (entry.value == value) return false;
            const std::size_t value_at = at + entry.name.size() + 1;
            own().replace(value_at, entry.value.size(), value);
            return true;
        }
        at += entry.size;
    }
    if (packed().size() + name.size() + value.size() + 2 > kBytesMax) return true;
    std::string& text = own();
    ((text += name) += '\0') += value;
    text += '\0';
    return true;
}

std::optional<std::string_view> ReportedValues::value(std::string_view name) const {
    for (std::string_view rest = packed(); !rest.empty();) {
        const Entry entry = front(rest);
        if (entry.name == name) return entry.value;
        rest.remove_prefix(entry.size);
    }
    return std::nullopt;
}

}  // namespace pgb

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

bool ReportedValues::set(std::string_view name, std::string_view value) {
    for (std::size_t at = 0; at < packed_.size();) {
        const Entry entry = front(std::string_view(packed_).substr(at));
        if (entry.name == name) {
            if (entry.value == value) return false;
            const std::size_t value_at = at + entry.name.size() + 1;
            packed_.replace(value_at, entry.value.size(), value);
            return true;
        }
        at += entry.size;
    }
    if (packed_.size() + name.size() + value.size() + 2 > kBytesMax) return true;
    ((packed_ += name) += '\0') += value;
    packed_ += '\0';
    return true;
}

std::optional<std::string_view> ReportedValues::value(std::string_view name) const {
    for (std::string_view rest = packed_; !rest.empty();) {
        const Entry entry = front(rest);
        if (entry.name == name) return entry.value;
        rest.remove_prefix(entry.size);
    }
    return std::nullopt;
}

}  // namespace pgb

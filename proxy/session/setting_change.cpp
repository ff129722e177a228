#include "proxy/session/setting_change.h"

#include "protocol/sql_name.h"

namespace pgb {

std::string setting_name(std::string_view written) {
    std::string name = lower_case(written);
    if (name == "sort_mem") return "work_mem";
    if (name == "vacuum_mem") return "maintenance_work_mem";
    return name;
}

bool can_be_followed(std::string_view setting) {
    return setting != "seed" && setting != "transaction_isolation" &&
           setting != "transaction_read_only" && setting != "transaction_deferrable";
}

std::string quoted_literal(std::string_view value) {
    const bool escapes = value.find('\\') != value.npos;
    std::string text = escapes ? "E'" : "'";
    for (const char c : value) {
        if (c == '\'' || c == '\\') text += c;
        text += c;
    }
    return text += '\'';
}

SettingChange set_config_change(std::string setting, std::string_view value) {
    std::string text = "SELECT pg_catalog.set_config(" + quoted_literal(setting) + ", " +
                       quoted_literal(value) + ", false)";
    return {SettingChange::Kind::set, std::move(setting), std::move(text)};
}

}  // namespace pgb

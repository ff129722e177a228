#include "proxy/session/statement_effects.h"

#include <utility>

namespace pgb {

const StatementEffect* StatementEffects::find(const Table& table, std::string_view name) {
    for (const Named& named : table) {
        if (named.name == name) return &named.effect;
    }
    return nullptr;
}

void StatementEffects::erase(Table& table, std::string_view name) {
    if (table.empty()) return;
    std::erase_if(table, [name](const Named& named) { return named.name == name; });
}

void StatementEffects::add(Table& table, std::string_view name, StatementEffect effect) {
    if (table.size() >= kNamedMax) {
        overflowed_ = true;
    } else {
        table.push_back({std::string(name), std::move(effect)});
    }
}

void StatementEffects::on_parse(std::string_view name, StatementEffect effect) {
    erase(statements_, name);
    if (effect.is_of_interest()) add(statements_, name, std::move(effect));
}

void StatementEffects::on_bind(std::string_view portal, const StatementEffect* effect) {
    erase(portals_, portal);
    if (effect != nullptr && effect->is_of_interest()) add(portals_, portal, *effect);
}

const StatementEffect* StatementEffects::known(const Table& table, std::string_view name) const {
    static const StatementEffect kUnknown{.unknown = true};
    const StatementEffect* effect = find(table, name);
    return effect == nullptr && overflowed_ ? &kUnknown : effect;
}

}  // namespace pgb

#include "proxy/session/statement_registry.h"

#include <functional>

namespace pgb {

namespace {

// What a statement costs besides its text: measured with malloc's own overhead and rounded up.
constexpr std::size_t kOverhead = 320;

std::size_t digest(const StatementKey& key) {
    const std::size_t text = std::hash<std::string_view>{}(key.text);
    const std::size_t types = std::hash<std::string_view>{}(key.types);
    std::size_t sum = text;
    for (const std::size_t part : {types, std::size_t{key.settings}, std::size_t{key.rows}}) {
        sum = (sum ^ part) * 0x9e3779b97f4a7c15U;
    }
    return sum;
}

}  // namespace

StatementRegistry::~StatementRegistry() {
    while (!unused_.empty()) unused_.pop_front();
}

StatementKey StatementRegistry::key_of(const SharedStatement& statement) {
    return {.text = statement.text,
            .types = statement.types,
            .settings = statement.settings,
            .rows = statement.rows,
            .accepted = statement.accepted};
}

std::size_t StatementRegistry::cost(const SharedStatement& statement) {
    return kOverhead + statement.text.size() + statement.types.size();
}

bool StatementRegistry::has_room(std::size_t size) const {
    return used_memory_ + kOverhead + size <= limits_.memory_max;
}

SharedStatement* StatementRegistry::find(std::size_t hash, const StatementKey& key) {
    const auto [begin, end] = statements_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
        const SharedStatement& found = at->second;
        if (found.text == key.text && found.types == key.types && found.settings == key.settings &&
            found.rows == key.rows && found.accepted == key.accepted) {
            return &at->second;
        }
    }
    return nullptr;
}

const SharedStatement& StatementRegistry::intern(const StatementKey& key,
                                                 const StatementFacts& facts) {
    const std::size_t hash = digest(key);
    SharedStatement* statement = find(hash, key);
    if (statement == nullptr) {
        const auto made = statements_.emplace(std::piecewise_construct, std::forward_as_tuple(hash),
                                              std::tuple<>());
        statement = &made->second;
        statement->id = ++last_id_;
        statement->text = key.text;
        statement->types = key.types;
        statement->settings = key.settings;
        statement->rows = key.rows;
        statement->accepted = key.accepted;
        statement->facts = facts;
        used_memory_ += cost(*statement);
    } else if (statement->users == 0) {
        unused_.remove(*statement);
        unused_memory_ -= cost(*statement);
        used_memory_ += cost(*statement);
    }
    ++statement->users;
    make_room();
    return *statement;
}

void StatementRegistry::release(const SharedStatement& statement) {
    const StatementKey key = key_of(statement);
    SharedStatement* found = find(digest(key), key);
    PGB_CHECK(found == &statement && found->users > 0);
    if (--found->users > 0) return;
    used_memory_ -= cost(*found);
    unused_memory_ += cost(*found);
    unused_.push_back(*found);
    make_room();
}

void StatementRegistry::make_room() {
    while (memory() > limits_.memory_max && !unused_.empty()) {
        SharedStatement& oldest = unused_.pop_front();
        unused_memory_ -= cost(oldest);
        const auto [begin, end] = statements_.equal_range(digest(key_of(oldest)));
        for (auto at = begin; at != end; ++at) {
            if (&at->second != &oldest) continue;
            statements_.erase(at);
            break;
        }
    }
}

}  // namespace pgb

#include "proxy/session/backend_statements.h"

#include <utility>

namespace pgb {

std::string statement_name(std::uint64_t number) { return "pgb_s" + std::to_string(number); }

std::uint64_t BackendStatements::number_of(StatementId id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return 0;
    if (found->second != order_.begin()) order_.splice(order_.begin(), order_, found->second);
    return found->second->number;
}

std::size_t BackendStatements::map(StatementId id, std::uint64_t number, std::size_t max) {
    const auto found = by_id_.find(id);
    if (found != by_id_.end()) {
        retire(statement_name(std::exchange(found->second->number, number)));
        order_.splice(order_.begin(), order_, found->second);
        return 0;
    }
    order_.push_front({id, number});
    by_id_.emplace(id, order_.begin());
    std::size_t evicted = 0;
    for (; order_.size() > max; ++evicted) {
        retire(statement_name(order_.back().number));
        by_id_.erase(order_.back().id);
        order_.pop_back();
    }
    return evicted;
}

void BackendStatements::doubt_all() {
    for (const Mapped& mapped : order_) retire(statement_name(mapped.number));
    order_.clear();
    by_id_.clear();
}

void BackendStatements::forget_all() {
    order_.clear();
    by_id_.clear();
    retired_.clear();
    unnamed = 0;
}

}  // namespace pgb

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proxy/session/statement_registry.h"

namespace pgb {

/// The name that a statement of this number has on the server.
[[nodiscard]] std::string statement_name(std::uint64_t number);

/// The prepared statements of one backend, as far as the server has confirmed them. On the server
/// each has a name made of a number, `pgb_s<number>`.
///
///   B1  a number is never used twice on one backend, so a name means one statement at most.
///   B2  what is mapped is on the server; what is retired may be, until its Close was answered.
///   B3  at most `max` statements are mapped; the least recently used makes room.
class BackendStatements {
public:
    [[nodiscard]] std::uint64_t fresh_number() { return ++last_number_; }

    /// The number of a statement that the backend has, which counts as used now; 0: it lacks it.
    std::uint64_t number_of(StatementId id);
    /// The server has the statement by this number; an older number of it is retired. Returns how
    /// many others had to make room.
    std::size_t map(StatementId id, std::uint64_t number, std::size_t max);

    /// To be closed ahead of something that is sent later.
    void retire(std::string name) { retired_.push_back(std::move(name)); }
    [[nodiscard]] bool has_retired() const { return !retired_.empty(); }
    [[nodiscard]] std::vector<std::string> take_retired() { return std::exchange(retired_, {}); }

    /// A text was sent that may drop all statements, and may fail: none is used any more, and each
    /// is closed, which does no harm to one that is not there.
    void doubt_all();
    /// The server has dropped all statements, or is about to before anyone uses it again.
    void forget_all();

    [[nodiscard]] std::size_t size() const { return by_id_.size(); }

    /// Whose unnamed statement the backend has (StatementRegistry::fresh_token()); 0: nobody's.
    std::uint64_t unnamed = 0;

private:
    struct Mapped {
        StatementId id;
        std::uint64_t number;
    };
    std::list<Mapped> order_;  // most recently used first
    std::unordered_map<StatementId, std::list<Mapped>::iterator> by_id_;
    std::vector<std::string> retired_;  // names
    std::uint64_t last_number_ = 0;
};

}  // namespace pgb

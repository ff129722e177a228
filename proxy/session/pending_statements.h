#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proxy/session/statement_facts.h"
#include "proxy/session/statement_registry.h"

namespace pgb {

/// Something about prepared statements that was sent to the backend and not answered yet.
enum class PendingKind : std::uint8_t {
    parse,       ///< a Parse of the frontend's, and a Describe of the proxy's own
    duplicate,   ///< the same for a name that is taken: only whether it is legal matters
    prepare,     ///< a statement of the session's is made on a backend that lacks it
    refuse,      ///< a message that must fail, so that the frontend gets an error of the proxy's
    close,       ///< a Close of a name, or its hand-over to the backend
    close_all,   ///< DEALLOCATE ALL or DISCARD ALL
    deallocate,  ///< DEALLOCATE of a name that the backend was given for it
    retire,      ///< a Close of the proxy's own
    // From here on: of the unnamed statement.
    unnamed_parse,   ///< of the frontend's
    unnamed_drop,    ///< a Query, or a Close of the unnamed statement
    unnamed_again,   ///< this session's unnamed statement is made on a backend that lacks it
    unnamed_foreign  ///< another session's is closed
};

struct PendingStatement {
    PendingKind kind = PendingKind::retire;
    bool drops_unnamed = false;      ///< with close_all and deallocate: sent as a Query
    bool failed = false;             ///< it was itself answered by an error
    bool doubtful = false;           ///< behind it something was sent that may drop it again
    std::uint8_t replies_due = 1;    ///< answers that are still to come
    std::uint8_t replies_taken = 0;  ///< answers that came
    std::uint32_t batch = 0;         ///< sync points sent before it
    std::uint64_t number = 0;        ///< of the statement on the backend; a token if unnamed
    StatementId id = 0;              ///< of prepare
    RowShape rows = kUnknownRows;    ///< of prepare: what they must be like
    std::string name;                ///< of parse and close
    std::string text;                ///< of parse; of refuse: the ErrorResponse
    std::string types;               ///< of parse, as declared
    StatementFacts facts;            ///< of parse
};

/// The row of them, oldest first. The ledger has a noted entry for each answer due, in this order.
class PendingStatements {
public:
    [[nodiscard]] bool empty() const { return head_ == row_.size(); }
    [[nodiscard]] PendingStatement& front() { return row_[head_]; }
    [[nodiscard]] PendingStatement& back() { return row_.back(); }
    PendingStatement& push(PendingKind kind, std::uint32_t batch) {
        PendingStatement& made = row_.emplace_back();
        made.kind = kind;
        made.batch = batch;
        return made;
    }
    void pop_front() {
        ++head_;
        if (empty()) clear();
    }
    void clear() {
        head_ = 0;
        row_.clear();
        if (row_.capacity() > kSpare) row_.shrink_to_fit();
    }

    /// The newest one for which `matches(const PendingStatement&)`, or nullptr.
    template <typename Matches>
    [[nodiscard]] const PendingStatement* newest(Matches matches) const {
        for (std::size_t at = row_.size(); at > head_; --at) {
            if (matches(row_[at - 1])) return &row_[at - 1];
        }
        return nullptr;
    }
    template <typename Visit>
    void for_each(Visit visit) {
        for (std::size_t at = head_; at < row_.size(); ++at) visit(row_[at]);
    }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (std::size_t at = head_; at < row_.size(); ++at) visit(row_[at]);
    }

private:
    // What an ordinary batch needs; a pipeline's memory is given back.
    static constexpr std::size_t kSpare = 4;
    std::vector<PendingStatement> row_;
    std::size_t head_ = 0;
};

}  // namespace pgb

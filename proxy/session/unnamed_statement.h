#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/session/statement_facts.h"

namespace pgb {

/// The unnamed statement of one session: the last one whose Parse the server has confirmed, and
/// those that were sent behind it and are not answered yet. PostgreSQL keeps it past a Sync and
/// drops it at the next Query or unnamed Parse; so it must be made again when a later batch runs on
/// another backend. Its Parse is kept as it came. Memory is used again, not freed, between batches.
class UnnamedStatement {
public:
    struct Version {
        std::uint64_t token = 0;  ///< 0: there is no unnamed statement, and the rest says nothing
        std::string message;      ///< its Parse; empty: too long to be kept
        StatementFacts facts;
    };
    /// A longer Parse is not kept: what an idle session may cost is bounded.
    static constexpr std::size_t kMessageMax = 8192;

    UnnamedStatement() : versions_(1) {}

    /// There is none, and nothing about one is on its way.
    [[nodiscard]] bool empty() const { return count_ == 1 && latest().token == 0; }
    /// As it will be when everything that was sent has been answered without an error.
    [[nodiscard]] const Version& latest() const {
        return versions_[(begin_ + count_ - 1) % versions_.size()];
    }

    /// A Parse was sent that will replace it when the server says so.
    void sent(std::uint64_t token, std::string_view message, const StatementFacts& facts);
    /// Something was sent that drops it.
    void drop_sent() { sent(0, {}, {}); }

    // The oldest of what was sent has been
    void confirmed();  ///< answered
    void failed();     ///< tried: PostgreSQL has dropped the statement before it
    void skipped();    ///< thrown away: nothing has changed

    /// Nothing is sent: it is so now.
    void set(std::uint64_t token, std::string_view message, const StatementFacts& facts);
    void drop();
    /// What was sent is never answered: the backend has gone.
    void forget_sent();

private:
    void assign(Version& version, std::uint64_t token, std::string_view message,
                const StatementFacts& facts);
    // Of those that count: 0 is the confirmed one.
    Version& at(std::size_t place);
    void advance();
    void rotate();
    void give_memory_back();

    // A ring: the confirmed one and those that were sent behind it. The rest is spare.
    std::vector<Version> versions_;
    std::size_t begin_ = 0;
    std::size_t count_ = 1;
};

}  // namespace pgb

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/framer.h"
#include "protocol/request.h"
#include "proxy/session/backend_batch.h"
#include "proxy/session/reply_ledger.h"
#include "proxy/session/unnamed_statement.h"

namespace pgb {

/// What a session that keeps its backend has made and dropped while that backend took no part: it
/// is told first thing in the next lease. Only a resident makes anything meanwhile; whoever keeps no
/// backend owes nothing.
class OwedStatements {
public:
    void closed(std::string_view name) { closes_.emplace_back(name); }
    void parsed(std::string_view name, std::string_view text) { parses_.emplace_back(name, text); }
    /// A name that was made meanwhile is gone again before the backend has heard of it.
    void unmake(std::string_view name) {
        std::erase_if(parses_, [name](const auto& made) { return made.first == name; });
    }
    /// The backend's unnamed statement is not the session's any more.
    void unnamed_changed() { unnamed_changed_ = true; }

    [[nodiscard]] bool empty() const {
        return closes_.empty() && parses_.empty() && !unnamed_changed_;
    }
    /// Appends it all, closed names before made ones, and owes nothing from here on. `unnamed` is
    /// the session's unnamed statement.
    void settle(std::string& out, ReplyLedger& ledger, const UnnamedStatement::Version& unnamed) {
        for (const std::string& name : closes_) append_close_statement(out, ledger, name);
        for (const auto& [name, text] : parses_) append_parse(out, ledger, name, text);
        if (unnamed_changed_) append_unnamed(out, ledger, unnamed);
        forget();
    }
    /// The backend has gone.
    void forget() {
        closes_.clear();
        parses_.clear();
        unnamed_changed_ = false;
    }

private:
    static void append_unnamed(std::string& out, ReplyLedger& ledger,
                               const UnnamedStatement::Version& unnamed) {
        if (unnamed.token == 0 || unnamed.message.empty()) {
            append_close_statement(out, ledger, {});
            return;
        }
        const std::string_view body = std::string_view(unnamed.message).substr(kMessageHeaderSize);
        append_parse(out, ledger, {}, parse_parse(body, true).text);
    }

    std::vector<std::string> closes_;
    std::vector<std::pair<std::string, std::string>> parses_;
    bool unnamed_changed_ = false;
};

}  // namespace pgb

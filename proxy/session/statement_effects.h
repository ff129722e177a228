#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/transaction_statement.h"
#include "proxy/session/housekeeping_texts.h"
#include "proxy/session/set_config_calls.h"
#include "proxy/session/setting_change.h"
#include "proxy/session/text_effect.h"

namespace pgb {

/// What a statement of the extended protocol does each time it is bound and executed.
struct StatementEffect {
    TransactionVerb verb = TransactionVerb::none;
    std::string savepoint = {};  ///< its name as written
    std::vector<SettingChange> changes = {};
    /// Become changes when the statement is bound.
    SetConfigCalls calls = {};
    TextEffect text = {};
    /// The tables were full once: it may do anything.
    bool unknown = false;
    Housekeeping housekeeping = Housekeeping::no;

    [[nodiscard]] bool is_of_interest() const {
        return verb != TransactionVerb::none || !changes.empty() || !calls.empty() || text.pins ||
               text.resets || text.unpins != 0;
    }
};

/// Which portals, and which statements that live under the client's own names on a kept backend,
/// change settings, leave something behind or are of the transaction grammar: a Parse has no effect
/// by itself, a Bind or an Execute names no text. Others are not kept, so that the tables are empty
/// most of the time. What does not fit into kNamedMax makes all that is not in the tables unknown.
class StatementEffects {
public:
    static constexpr std::size_t kNamedMax = 256;

    [[nodiscard]] bool empty() const {
        return statements_.empty() && portals_.empty() && !overflowed_;
    }
    void on_parse(std::string_view name, StatementEffect effect);
    /// nullptr: of a statement that does nothing of interest.
    void on_bind(std::string_view portal, const StatementEffect* effect);
    void on_close_statement(std::string_view name) { erase(statements_, name); }
    void on_close_portal(std::string_view name) { erase(portals_, name); }
    /// Portals end with their transaction.
    void on_transaction_end() { portals_.clear(); }
    [[nodiscard]] bool has_portals() const { return !portals_.empty() || overflowed_; }
    /// The session has no statement left.
    void clear() { *this = StatementEffects(); }

    // nullptr: it does nothing of interest.
    [[nodiscard]] const StatementEffect* of_statement(std::string_view name) const {
        return known(statements_, name);
    }
    [[nodiscard]] const StatementEffect* of_portal(std::string_view name) const {
        return known(portals_, name);
    }

private:
    struct Named {
        std::string name;
        StatementEffect effect;
    };
    using Table = std::vector<Named>;
    static const StatementEffect* find(const Table& table, std::string_view name);
    [[nodiscard]] const StatementEffect* known(const Table& table, std::string_view name) const;
    static void erase(Table& table, std::string_view name);
    void add(Table& table, std::string_view name, StatementEffect effect);

    Table statements_;
    Table portals_;
    bool overflowed_ = false;
};

}  // namespace pgb

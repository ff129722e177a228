#include "protocol/transaction_statement.h"

namespace pgb {

namespace {

std::string_view isolation_text(IsolationLevel level) {
    switch (level) {
        case IsolationLevel::unset: return {};
        case IsolationLevel::read_uncommitted: return " ISOLATION LEVEL READ UNCOMMITTED";
        case IsolationLevel::read_committed: return " ISOLATION LEVEL READ COMMITTED";
        case IsolationLevel::repeatable_read: return " ISOLATION LEVEL REPEATABLE READ";
        case IsolationLevel::serializable: return " ISOLATION LEVEL SERIALIZABLE";
    }
    return {};
}

std::string_view access_text(Access access) {
    switch (access) {
        case Access::unset: return {};
        case Access::read_only: return " READ ONLY";
        case Access::read_write: return " READ WRITE";
    }
    return {};
}

std::string_view deferrability_text(Deferrability deferrability) {
    switch (deferrability) {
        case Deferrability::unset: return {};
        case Deferrability::deferrable: return " DEFERRABLE";
        case Deferrability::not_deferrable: return " NOT DEFERRABLE";
    }
    return {};
}

}  // namespace

std::uint8_t TransactionModes::index() const {
    return static_cast<std::uint8_t>(
        (static_cast<unsigned>(isolation) * 3 + static_cast<unsigned>(access)) * 3 +
        static_cast<unsigned>(deferrability));
}

TransactionModes TransactionModes::from_index(std::uint8_t index) {
    return {static_cast<IsolationLevel>(index / 9), static_cast<Access>(index / 3 % 3),
            static_cast<Deferrability>(index % 3)};
}

std::string TransactionModes::begin_text() const {
    std::string text = "BEGIN";
    text += isolation_text(isolation);
    text += access_text(access);
    text += deferrability_text(deferrability);
    return text;
}

std::string_view command_tag(TransactionVerb verb) {
    switch (verb) {
        case TransactionVerb::none:
        case TransactionVerb::empty: return {};
        case TransactionVerb::begin: return "BEGIN";
        case TransactionVerb::start_transaction: return "START TRANSACTION";
        case TransactionVerb::commit:
        case TransactionVerb::end_:
        case TransactionVerb::commit_and_chain: return "COMMIT";
        case TransactionVerb::rollback:
        case TransactionVerb::abort_:
        case TransactionVerb::rollback_and_chain:
        case TransactionVerb::rollback_to: return "ROLLBACK";
        case TransactionVerb::savepoint: return "SAVEPOINT";
        case TransactionVerb::release: return "RELEASE";
        case TransactionVerb::set_transaction: return "SET";
        case TransactionVerb::prepare_transaction: return "PREPARE TRANSACTION";
        case TransactionVerb::commit_prepared: return "COMMIT PREPARED";
        case TransactionVerb::rollback_prepared: return "ROLLBACK PREPARED";
    }
    return {};
}

}  // namespace pgb

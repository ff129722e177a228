// A session at rest: between two transactions, with nothing of its own that a new one would not have.

#include "proxy/session/session_seed.h"

#include "proxy/session/session.h"

namespace pgb {

Session::Session(const SessionTables& tables, StatementRegistry& registry, const SessionSeed& seed)
    : Session(tables, registry) {
    told_ = seed.told;
    if (seed.unset != nullptr) local_.note_unset_values(*seed.unset);
    statements_.set_origin(seed.origin);
    last_activity_ = seed.last_activity;
}

SessionSeed Session::seed() const {
    return {.told = told_,
            .unset = local_.unset_values(),
            .origin = statements_.origin(),
            .last_activity = last_activity_};
}

bool Session::is_at_rest() const {
    const bool between_transactions = state_ == SessionState::idle &&
                                      status_ == TransactionStatus::idle &&
                                      block_.state() == VirtualBlock::State::none;
    const bool alone = !has_backend_ && book_ == nullptr && pins_ == 0 && !pin_reserved_ &&
                       !reset_owed_ && !draining_;
    const bool nothing_begun = !frontend_framer_.in_message() && !backend_framer_.in_message() &&
                               ledger_.settled() && own_work_ == OwnWork::none &&
                               refusal_.empty() && local_.is_at_rest();
    const bool owns_nothing = settings_.empty() && journal_.empty() && !aim_ &&
                              statements_.empty() && effects_.empty() && owed_.empty() &&
                              tag_book_.empty();
    return between_transactions && alone && nothing_begun && owns_nothing;
}

}  // namespace pgb
